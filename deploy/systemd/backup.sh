#!/bin/sh
# Writes a verified backup into a folder of its own below $BACKUPS, and keeps the newest $KEEP. A backup that fails removes none.
set -eu
program=${SVC_GATEWAY:-/opt/svc-gateway/current/bin/svc-gateway}
name=$(date -u +%Y-%m-%dT%H%M%SZ)
# An unfinished one, of a machine that was switched off, is no backup.
rm -rf "$BACKUPS"/*.unfinished
mkdir "$BACKUPS/$name.unfinished"
"$program" backup "$BACKUPS/$name.unfinished/gateway.db"
mv "$BACKUPS/$name.unfinished" "$BACKUPS/$name"
ls -1 "$BACKUPS" | sort -r | tail -n "+$((KEEP + 1))" | while read -r old; do rm -rf "${BACKUPS:?}/$old"; done
