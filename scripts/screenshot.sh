#!/usr/bin/env bash
# Takes a picture of the top of a report page with headless Chromium (Debian: chromium, fonts-inter).
#
#   scripts/screenshot.sh REPORT.html OUT.png [WIDTH] [HEIGHT]
#
# docs/page.png is made with:
#   cargo run -q -p tokometer-report --example report -- h200 html > /tmp/h200.html
#   scripts/screenshot.sh /tmp/h200.html docs/page.png
set -euo pipefail

if [ $# -lt 2 ]; then
  echo "usage: $0 REPORT.html OUT.png [WIDTH] [HEIGHT]" >&2
  exit 2
fi
report=$(realpath "$1")
picture=$(realpath -m "$2")
width=${3:-1400}
height=${4:-992}

profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
"${CHROMIUM:-chromium}" --headless=new --no-sandbox --disable-gpu --no-first-run \
  --disable-background-networking --disable-component-update --disable-sync \
  --hide-scrollbars --user-data-dir="$profile" \
  --window-size="$width,$height" --screenshot="$picture" "file://$report" >"$profile/log" 2>&1 ||
  { cat "$profile/log" >&2; exit 1; }
[ -s "$picture" ] || { cat "$profile/log" >&2; exit 1; }
echo "$picture: $(stat -c %s "$picture") bytes"
