#!/usr/bin/env bash
# The site's tests on a real PostgreSQL, from its Debian package: a scratch server on a Unix socket, as nobody special.
#
#   scripts/postgres.sh [TEST…]    starts a server, runs the site's tests on it, stops it
#   scripts/postgres.sh start DIR  makes and starts a server in DIR (absolute), or starts it again; prints its address
#   scripts/postgres.sh stop DIR   stops it
set -euo pipefail
cd "$(dirname "$0")/.."

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

programs() {
  local found
  found=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
  if [ -z "$found" ]; then
    as_root apt-get update -qq
    # No cluster of the machine's own: the tests make theirs.
    as_root mkdir -p /etc/postgresql-common
    echo "create_main_cluster = false" | as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
    DEBIAN_FRONTEND=noninteractive as_root apt-get install -y -qq --no-install-recommends postgresql >/dev/null
    found=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
  fi
  echo "$found"
}

# The server refuses to run as root.
as_nobody_special() {
  if [ "$(id -u)" = 0 ]; then (cd / && runuser -u postgres -- "$@"); else "$@"; fi
}

start() {
  local dir bin
  dir=$(realpath "$1") bin=$(programs)
  if [ ! -s "$dir/data/PG_VERSION" ]; then
    [ "$(id -u)" != 0 ] || chown postgres "$dir"
    as_nobody_special "$bin/initdb" --pgdata="$dir/data" --username=tokometer --auth=trust --encoding=UTF8 \
      --locale=C.UTF-8 --no-sync >"$dir/initdb.log"
  fi
  as_nobody_special "$bin/pg_ctl" --pgdata="$dir/data" --log="$dir/data/log" --wait --silent \
    --options="-c listen_addresses='' -c unix_socket_directories=$dir -c max_connections=500 -c fsync=off" start \
    >/dev/null || { tail -20 "$dir/data/log" >&2; return 1; }
  echo "postgres://tokometer@localhost/postgres?host=$dir"
}

stop() {
  as_nobody_special "$(programs)/pg_ctl" --pgdata="$(realpath "$1")/data" --mode=fast --silent --wait stop >/dev/null 2>&1 || true
}

case ${1:-} in
  start) start "$2"; exit ;;
  stop) stop "$2"; exit ;;
esac

dir=$(mktemp -d)
trap 'stop "$dir"; rm -rf "$dir"' EXIT
TOKOMETER_POSTGRES=$(start "$dir")
export TOKOMETER_POSTGRES
cargo test -p tokometer-site --locked --test it "$@"
