#!/bin/sh
# What a user does first, with the `tokometer` of PATH, each step to its end: for a binary that is to be shipped.
# Nothing but a shell and coreutils is needed, so that it runs in a bare system, too.
# NVML=FOLDER: a folder that holds a libnvidia-ml.so.1, whose devices must be found.
set -eu
place=$(mktemp -d)
cd "$place"
pids=
trap 'kill $pids 2>/dev/null || true; rm -rf "$place"' EXIT
export TOKOMETER_CONFIG= HOME="$place" TOKOMETER_SITE_DATA="$place/site"

# Cells that a busy machine disturbed are no failure of the binary.
measured() { "$@" || [ $? = 3 ]; }
# Does what is given, and shows what it said only if it failed.
silently() { "$@" >said.out 2>&1 || { cat said.out >&2; exit 1; }; }
# Waits until a program has written this into a file.
said() {
  tries=0
  until grep -q "$1" "$2" 2>/dev/null; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || { echo "no \"$1\" from: $3" >&2; cat "$2" >&2; exit 1; }
    sleep 0.1
  done
}

tokometer --version
silently tokometer --help
silently tokometer explain TTFT

measured tokometer demo --contexts 8k --concurrency 1 --duration 1s --quiet

mkfifo hold
tokometer sim --port 0 --until-stdin-ends <hold >sim.out 2>&1 &
pids="$pids $!"
exec 3>hold
said http:// sim.out "tokometer sim"
url=$(sed -n 's|.*\(http://[0-9.:]*\).*|\1|p' sim.out | head -n 1)
measured tokometer run "$url" --yes --contexts 1k --concurrency 1,2 --duration 1s --quiet --out measured
silently tokometer verify measured/*
echo "measured and verified"

if tokometer serve --help >/dev/null 2>&1; then
  tokometer serve --listen 127.0.0.1:0 >site.out 2>&1 &
  pids="$pids $!"
  said serving site.out "tokometer serve"
  silently tokometer publish measured/* --yes
  echo "served and published"
fi

if [ -n "${NVML:-}" ]; then
  LD_LIBRARY_PATH="$NVML" tokometer run "$url" --dry-run --quiet --out devices >/dev/null
  grep -q '"driver_name": "NVIDIA H200"' devices/*/run.json || {
    echo "the driver's library was not loaded" >&2
    exit 1
  }
  echo "loads the driver's library: NVIDIA H200 found"
fi
