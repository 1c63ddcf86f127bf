#!/usr/bin/env bash
# Brings the real programs that some tests drive (a browser, a terminal multiplexer, an ssh server …) on Debian, as root.
# Elsewhere it changes nothing: those tests then skip with a reason, or fail where CI=true.
set -u

# Programs in Go are built once for each version of their module and kept between checkouts.
build_go() {
  local name=$1 package=$2 source cache target
  source=$(cd "$(dirname "$0")/../$name" && pwd)
  cache=${XDG_CACHE_HOME:-$HOME/.cache}/svc-gateway-tests
  target=$cache/$name-$(cd "$source" && cat $(ls main.go 2>/dev/null) go.mod go.sum | sha256sum | cut -c 1-12)
  [ -x "$target" ] && return
  if ! command -v go >/dev/null 2>&1; then
    echo "not built: $name needs Go $(sed -n 's/^go //p' "$source/go.mod") or newer (the tests that need it will skip, or fail where CI=true)" >&2
    return
  fi
  echo "building for the tests: $name"
  mkdir -p "$cache"
  if (cd "$source" && CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-mod=readonly nice go build -buildvcs=false -o "$target.$$" "$package") >"$target.log" 2>&1; then
    mv "$target.$$" "$target"
  else
    tail -n 20 "$target.log" >&2
    echo "could not build $name (the tests that need it will skip, or fail where CI=true)" >&2
  fi
}
# A real OpenID provider, and Stripe's own check of requests against the description of its API.
build_go dex .
build_go stripe-mock github.com/stripe/stripe-mock

declare -A package_of=(
  [chromium]=chromium [chromium-headless-shell]=chromium-headless-shell [tmux]=tmux [/usr/sbin/sshd]=openssh-server [ssh]=openssh-client [Xvfb]=xvfb [xdotool]=xdotool
  [firefox-esr]=firefox-esr [WebKitWebDriver]=webkit2gtk-driver [w3m]=w3m [lynx]=lynx
  [promtool]=prometheus [prometheus]=prometheus [notify-send]=libnotify-bin [sqlite3]=sqlite3 [strace]=strace
  [zsh]=zsh [fish]=fish [groff]=groff-base [postgres]=postgresql [redis-server]=redis-server [haproxy]=haproxy
  [nginx]=nginx [caddy]=caddy [apache2]=apache2-bin [varnishd]=varnish [pgbouncer]=pgbouncer
  [postfix]=postfix [age]=age
  [systemd-analyze]=systemd
)
# PostgreSQL's programs lie in a folder for each version, Postfix's where only root looks.
PATH=$PATH:/usr/sbin$(printf ':%s' /usr/lib/postgresql/*/bin)
missing=()
for program in "${!package_of[@]}"; do
  command -v "$program" >/dev/null 2>&1 || missing+=("${package_of[$program]}")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "not installed: ${missing[*]} (the tests that need them will skip)" >&2
  exit 0
fi
echo "installing for the tests: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# The services these packages bring are for others: nothing may start by itself on this machine.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy" && trap 'rm -f "$policy"' EXIT; fi
# Nor may a database be made for everybody, which the next start of the machine would bring up.
mkdir -p /etc/postgresql-common/createcluster.d && echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.d/svc-gateway-tests.conf
log=$(mktemp)
{ apt-get update -q && apt-get install -qy --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 || {
  tail -n 20 "$log" >&2
  echo "could not install them (the tests that need them will skip, or fail where CI=true)" >&2
}
exit 0
