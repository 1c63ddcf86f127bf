#!/bin/sh
# The operator's commands with the service's settings: /usr/local/sbin/svc-gateway. `svc-gateway doctor`, `svc-gateway turns --since 1h` …
# systemd reads the file of settings as it does for the service. Files that a command writes belong to the user of the data folder.
set -eu
terminal=--pipe
if [ -t 0 ] && [ -t 1 ]; then terminal=--pty; fi
exec systemd-run --quiet --collect --wait $terminal --same-dir --service-type=exec \
  --property=EnvironmentFile=/etc/svc-gateway/gateway.env \
  --setenv=NODE_ENV=production --setenv=DATA_DIR=/var/lib/svc-gateway \
  "${SVC_GATEWAY:-/opt/svc-gateway/current/bin/svc-gateway}" "$@"
