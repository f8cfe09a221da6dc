#!/usr/bin/env bash
# Feeds the event parser and the token ledger with what nobody would send, for SECONDS each.
#
#   scripts/fuzz.sh SECONDS
#
# Needs cargo-fuzz (cargo install cargo-fuzz) and a C++ compiler. The stable toolchain will do: the flag that lets
# it build with a sanitizer is set here. The corpus starts from the streams of the tests and grows under
# fuzz/corpus; what breaks lies under fuzz/artifacts and is run again with
#   RUSTC_BOOTSTRAP=1 cargo fuzz run TARGET fuzz/artifacts/TARGET/FILE
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:?usage: scripts/fuzz.sh SECONDS}
cargo fuzz --version >/dev/null 2>&1 || { echo "cargo-fuzz is missing: cargo install cargo-fuzz" >&2; exit 1; }

for target in events ledger; do
  mkdir -p "fuzz/corpus/$target"
  RUSTC_BOOTSTRAP=1 cargo fuzz run "$target" "fuzz/corpus/$target" crates/wire/tests/fixtures/streams -- \
    -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1
done
