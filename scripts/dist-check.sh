#!/usr/bin/env bash
# Checks a binary that is to be shipped: what it asks of a system, that it loads a driver's library, what a user does
# first, how fast it starts.
#   scripts/dist-check.sh BINARY
# GLIBC=VERSION  the highest that it may need (default 2.28: Debian 10, Ubuntu 20.04, RHEL 8)
# ROOT=FOLDER    an older system (made with debootstrap): the same there. Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
binary=$(realpath "$1")

step() { printf '\n== %s\n' "$1"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step "what it asks of a system"
python3 scripts/elf-needs.py --most "${GLIBC:-2.28}" "$binary"
echo "$(stat -c %s "$binary") bytes, $(gzip -9 -c "$binary" | wc -c) packed"

step "first steps"
mkdir "$work/bin" "$work/nvml"
ln -s "$binary" "$work/bin/tokometer"
# A driver's library that is played by a few functions.
cc -shared -fPIC -O1 -o "$work/nvml/libnvidia-ml.so.1" crates/telemetry/tests/stub/nvml.c
PATH="$work/bin:$PATH" NVML="$work/nvml" sh scripts/first-steps.sh

if [ -n "${ROOT:-}" ]; then
  step "an older system: $(sed -n 's/^PRETTY_NAME=//p' "$ROOT/etc/os-release")"
  install -D "$binary" "$ROOT/usr/local/bin/tokometer"
  install -D scripts/first-steps.sh "$work/nvml/libnvidia-ml.so.1" -t "$ROOT/opt/tokometer"
  unshare --mount --net --pid --fork sh -c "ip link set lo up; mount -t proc proc '$ROOT/proc'; \
    exec chroot '$ROOT' env NVML=/opt/tokometer sh /opt/tokometer/first-steps.sh"
fi

step "start-up"
python3 - "$binary" <<'PY'
import os, socket, statistics, subprocess, sys, time

ROUNDS = 30


def whole(command):
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def to_first_request():
    """From the start of the program to its first request, which is not answered."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = "127.0.0.1:%d" % server.getsockname()[1]
        begin = time.perf_counter()
        environment = os.environ | {"TOKOMETER_CONFIG": ""}
        process = subprocess.Popen([sys.argv[1], "probe", address], stderr=subprocess.DEVNULL, env=environment)
        peer, _ = server.accept()
        with peer:
            assert peer.recv(16).startswith(b"GET /")
            seconds = time.perf_counter() - begin
            process.kill()
            process.wait()
        return seconds


figures = {
    "true": lambda: whole(["true"]),
    "--version": lambda: whole([sys.argv[1], "--version"]),
    "--help": lambda: whole([sys.argv[1], "--help"]),
    "start to first request": to_first_request,
}
# In turn, so that what else the machine does meets all alike.
seen = {name: [] for name in figures}
for _ in range(ROUNDS):
    for name, measure in figures.items():
        seen[name].append(measure() * 1000)
base = statistics.median(seen["true"])
for name, values in seen.items():
    middle = statistics.median(values)
    print(f"{name}: {middle:.1f} ms, {middle / base:.1f} × that of `true` (medians of {ROUNDS})")
PY
