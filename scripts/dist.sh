#!/usr/bin/env bash
# Builds what is shipped: the wheel with the binary in it, for systems with an old glibc; then checks it.
#   scripts/dist.sh [FOLDER]     (default: target/wheels)
# Needs Python with venv; maturin and the linker for old systems come from the Python registry into target/dist-tools.
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:-target/wheels}
# The oldest glibc that the binary may ask for: that of Debian 10, Ubuntu 20.04 and RHEL 8.
glibc=2.28

step() { printf '\n== %s\n' "$1"; }

step "tools"
tools=target/dist-tools
[ -x "$tools/bin/maturin" ] || { python3 -m venv "$tools"; "$tools/bin/pip" install -q 'maturin[zig]>=1.9,<2'; }
PATH="$PWD/$tools/bin:$PATH"
maturin --version

step "wheel"
rm -rf "$out"
maturin build --zig --compatibility "manylinux_${glibc/./_}" --out "$out"
wheel=$(ls "$out"/*.whl)

step "what it asks of a system"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m zipfile -e "$wheel" "$work/wheel"
binary=$(find "$work/wheel" -path '*/scripts/tokometer')
chmod +x "$binary"
highest=$(grep -aoE 'GLIBC_[0-9]+\.[0-9]+' "$binary" | sort -uV | tail -n 1)
echo "$highest at most; $(stat -c %s "$binary") bytes, wheel $(stat -c %s "$wheel") bytes"
[ "$(printf '%s\n' "$highest" "GLIBC_$glibc" | sort -V | tail -n 1)" = "GLIBC_$glibc" ] || {
  echo "it needs $highest, but may need GLIBC_$glibc at most" >&2
  exit 1
}

step "an empty environment"
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-index "$wheel"
"$work/venv/bin/tokometer" --version
(cd "$work" && "$work/venv/bin/tokometer" demo --contexts 8k --concurrency 1 --duration 1s --quiet)

# With a root of an older system as ROOT (debootstrap), as root: the binary runs there too.
if [ -n "${ROOT:-}" ]; then
  step "an older system: $(sed -n 's/^PRETTY_NAME=//p' "$ROOT/etc/os-release")"
  install -D "$binary" "$ROOT/usr/local/bin/tokometer"
  unshare --mount --net sh -c "ip link set lo up; mount -t proc proc '$ROOT/proc'; exec chroot '$ROOT' \
    sh -c 'cd /tmp && tokometer --version && tokometer demo --contexts 8k --concurrency 1 --duration 1s --quiet'"
fi

step "start-up"
python3 - "$binary" <<'PY'
import statistics, subprocess, sys, time
times = []
for _ in range(20):
    begin = time.perf_counter()
    subprocess.run([sys.argv[1], "--version"], check=True, stdout=subprocess.DEVNULL)
    times.append((time.perf_counter() - begin) * 1000)
print(f"--version: {statistics.median(times):.1f} ms, median of {len(times)}")
PY
