#!/usr/bin/env bash
# Holds a served site against its own description with schemathesis: no answer 5xx, none that is not as described.
#
# The site has data: two published pages as imports, and a run of the simulated engine with its traces. The tests are
# seeded and bounded; a token of the admin comes from the environment, never from a command line. Needs python3 with
# venv, and the package index. Takes about three minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

version=4.32.5
seconds=${TOKOMETER_SCHEMATHESIS_SECONDS:-120}
venv=target/schemathesis
if [ "$("$venv/bin/schemathesis" --version 2>/dev/null)" != "schemathesis, version $version" ]; then
  rm -rf "$venv"
  python3 -m venv "$venv" || { echo "python3 has no venv: apt-get install python3-venv" >&2; exit 1; }
  "$venv/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$version"
fi

cargo build --locked -p tokometer --features site
tokometer="$(cargo metadata --format-version 1 --no-deps --locked | "$venv/bin/python" -c \
  'import json, sys; print(json.load(sys.stdin)["target_directory"])')/debug/tokometer"

work=$(mktemp -d)
server=
finish() {
  if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap finish EXIT

# Behind a proxy: each test is a client of its own, so the bounds on how often one may ask are in nobody's way.
start() {
  "$tokometer" serve --listen 127.0.0.1:0 --data "$work/data" --behind-proxy --log warn \
    >"$work/served" 2>>"$work/log" &
  server=$!
  for _ in $(seq 100); do
    if grep -q '^serving ' "$work/served" || ! kill -0 "$server" 2>/dev/null; then break; fi
    sleep 0.1
  done
  url=$(sed -n 's/^serving \(http:[^ ]*\) .*/\1/p' "$work/served")
  [ -n "$url" ] || { cat "$work/log" >&2; exit 1; }
}
start
TOKOMETER_TOKEN=$(cat "$work/data/admin-token")
export TOKOMETER_TOKEN

for page in h200-x4 rtx-pro-6000-x4; do
  "$tokometer" import "crates/record/published/$page.json" --out "$work/$page" --quiet
  "$tokometer" publish "$work/$page"/* --site "$url" --yes
done
code=0
"$tokometer" demo --contexts 1k --concurrency 1,2 --duration 1s --out "$work/runs" --plain --publish "$url" || code=$?
# A shared machine may make a cell unstable (exit code 3); it is published all the same.
if [ "$code" != 0 ] && [ "$code" != 3 ]; then exit "$code"; fi

# Started again it has something to make a dump of.
kill "$server"
wait "$server" || true
start
for _ in $(seq 100); do
  if curl --fail --silent --output /dev/null "$url/api/v1/dump/latest.parquet"; then break; fi
  sleep 0.1
done

export TOKOMETER_SITE_URL=$url PYTHONPATH=$PWD/scripts/schemathesis SCHEMATHESIS_HOOKS=site_hooks
here=$PWD
# It keeps what it found beside it: not in the tree.
(cd "$work" && "$here/$venv/bin/schemathesis" --config-file "$here/scripts/schemathesis/schemathesis.toml" \
  run "$url/openapi.json" --seed 20261201 --max-time "$seconds" --request-timeout 30 --no-color)
# Without its token it would have been refused everywhere, and would have tried nothing.
printf 'header = "Authorization: Bearer %s"\n' "$TOKOMETER_TOKEN" |
  curl --fail --silent --show-error --output /dev/null --config - "$url/api/v1/whoami"
kill -0 "$server" || { echo "the site ended" >&2; exit 1; }
if grep -E '"level":"ERROR"| ERROR ' "$work/log" >&2; then exit 1; fi
