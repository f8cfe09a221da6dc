#!/usr/bin/env bash
# Measures a real engine on this CPU and compares our token counts with the server's own counter.
#
# llama.cpp's server comes from a Python package, its model is tiny and random (scripts/lab/tiny_model.py): the
# words mean nothing, the scheduler, tokenizer, stream and counters are real. tokometer starts the server itself, and
# is interrupted in each phase. Needs python3 with venv, and the package index. Takes about five minutes; everything
# lies under .lab/ and target/.
set -euo pipefail
cd "$(dirname "$0")/.."

lab=.lab
port=${TOKOMETER_LAB_PORT:-18081}
packages=(xllamacpp==2026.10.11549 gguf==0.19.0 tokenizers==0.23.3 numpy)

if ! "$lab/venv/bin/python" -c 'import xllamacpp, gguf, tokenizers, numpy' 2>/dev/null; then
  rm -rf "$lab/venv"
  python3 -m venv "$lab/venv" || { echo "python3 has no venv: apt-get install python3-venv" >&2; exit 1; }
  "$lab/venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
fi
mkdir -p "$lab"
"$lab/venv/bin/python" scripts/lab/tiny_model.py "$lab/tiny.gguf" README.md ARCHITECTURE.md docs/method.md

cargo build --release --locked -p tokometer
tokometer="$(cargo metadata --format-version 1 --no-deps --locked | "$lab/venv/bin/python" -c \
  'import json, sys; print(json.load(sys.stdin)["target_directory"])')/release/tokometer"

server=("$lab/venv/bin/python" scripts/lab/llama_server.py "$lab/tiny.gguf" "$port" 4 16384 tiny)

echo "-- started by --launch, and interrupted in each phase"
"$lab/venv/bin/python" scripts/lab/launched.py "$tokometer" "$lab/launched" "$port" "${server[@]}"

for at_end in finish cut; do
  echo "-- --at-end $at_end"
  code=0
  "$tokometer" run "127.0.0.1:$port" --launch "exec ${server[*]}" --contexts 1k,4k --concurrency 1,4 --duration 5s \
    --max-output 1500 --at-end "$at_end" --out "$lab/runs" --yes --json >"$lab/$at_end.json" || code=$?
  # A shared machine may make a cell unstable (exit code 3); the token counts must hold all the same.
  if [ "$code" != 0 ] && [ "$code" != 3 ]; then exit "$code"; fi
  "$lab/venv/bin/python" scripts/lab/check_tokens.py "$lab/$at_end.json" "$at_end"
done
