#!/usr/bin/env bash
# Builds what is shipped: the wheel with the binary in it, for systems with an old glibc; then checks it.
#   scripts/dist.sh [FOLDER]     (default: target/wheels)
# Needs Python with venv; maturin and the linker for old systems come from the Python registry into target/dist-tools.
# With ROOT=FOLDER, an older system, the binary is tried there too (see dist-check.sh).
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:-target/wheels}
# The oldest glibc that the binary may ask for: that of Debian 10, Ubuntu 20.04 and RHEL 8.
export GLIBC=2.28

step() { printf '\n== %s\n' "$1"; }

step "tools"
tools=target/dist-tools
[ -x "$tools/bin/maturin" ] || { python3 -m venv "$tools"; "$tools/bin/pip" install -q 'maturin[zig]>=1.9,<2'; }
PATH="$PWD/$tools/bin:$PATH"
maturin --version

step "wheel"
rm -rf "$out"
maturin build --zig --compatibility "manylinux_${GLIBC/./_}" --out "$out"
wheel=$(ls "$out"/*.whl)

step "an empty environment"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-index "$wheel"
"$work/venv/bin/tokometer" --version
(cd "$work" && "$work/venv/bin/tokometer" demo --contexts 8k --concurrency 1 --duration 1s --quiet) || [ $? = 3 ]
echo "wheel $(stat -c %s "$wheel") bytes"

scripts/dist-check.sh "$work/venv/bin/tokometer"
