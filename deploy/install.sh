#!/bin/sh
# Installs a release as a systemd service, or removes it. Run as root, in the folder of the unpacked `deploy` archive:
#   ./install.sh install svc-gateway-0.2.0.tgz     user, folders, program, units, settings; says each step, and asks first (--yes: does not);
#                                                  the release's SHA256SUMS must be beside the tarball
#   ./install.sh remove                            all of that, except settings, data and backups
#   ./install.sh remove --purge                    these too
# PREFIX=/some/root installs below another root folder, and starts nothing.
set -eu
umask 022
cd "$(dirname "$0")"
prefix=${PREFIX:-}
command=${1:-}
[ $# -gt 0 ] && shift
yes=no purge=no tarball=
for word in "$@"; do
  case $word in
    --yes) yes=yes ;;
    --purge) purge=yes ;;
    -*) echo "There is no option $word." >&2; exit 2 ;;
    *) tarball=$word ;;
  esac
done

program=$prefix/opt/svc-gateway
settings=$prefix/etc/svc-gateway
units=$prefix/etc/systemd/system
data=$prefix/var/lib/svc-gateway
backups=$prefix/var/lib/svc-gateway-backups
cache=$prefix/var/cache/svc-gateway
operator=$prefix/usr/local/sbin/svc-gateway
unit_names='svc-gateway.service svc-gateway-backup.service svc-gateway-backup.timer svc-gateway-upgrade-back.service'

fail() { echo "$1" >&2; exit 1; }
confirm() {
  [ "$yes" = yes ] && return
  printf 'Go on? [y/N] '
  read -r answer || answer=
  case $answer in y | Y | yes) ;; *) fail 'Nothing was changed.' ;; esac
}
# Steps that concern the running system, not a folder.
on_system() { if [ -z "$prefix" ]; then "$@"; fi; }

install_service() {
  [ -f "$tarball" ] || fail 'Name the tarball: ./install.sh install svc-gateway-0.2.0.tgz'
  node=$(command -v node) || fail 'Node 24 is missing.'
  case $(node --version) in v24.* | v25.*) ;; *) fail "Node 24 is needed; $node is $(node --version)." ;; esac
  [ -n "$prefix" ] || case $node in /usr/bin/* | /usr/local/bin/* | /bin/*) ;; *) fail "The service finds Node in /usr/bin or /usr/local/bin, not in $node." ;; esac
  sums=$(dirname "$tarball")/SHA256SUMS
  [ -f "$sums" ] || fail "There is no SHA256SUMS beside $tarball: put that of the release there."
  # A copy is verified and used: the named file could change in between.
  name=$(basename "$tarball")
  copy=$(mktemp -d)
  trap 'rm -rf "$copy"' EXIT
  cp "$tarball" "$copy/$name"
  sed -n "/ [ *]$name\$/p" "$sums" | (cd "$copy" && sha256sum --check --status) || fail "$name is not the file of SHA256SUMS. Nothing was unpacked."
  tarball=$copy/$name
  version=$(tar -xzOf "$tarball" package/package.json | sed -n 's/^  "version": "\(.*\)",$/\1/p')
  [ -n "$version" ] || fail "$tarball is not a release of svc-gateway."
  echo "This installs svc-gateway $version as a service:
  user        svc-gateway, without a password or a shell
  program     $program/$version, and $program/current, a link to it
  units       svc-gateway.service, svc-gateway-backup.service, svc-gateway-backup.timer, svc-gateway-upgrade-back.service in $units
  settings    $settings/gateway.env (kept where it exists), mode 0600
  command     $operator
  data        $data and $backups, made by systemd at the first start
It enables the units, and starts the service where its settings existed before; where another version has data, svc-gateway upgrade
switches to this one. ./install.sh remove undoes it."
  confirm
  if ! getent passwd svc-gateway >/dev/null; then
    on_system useradd --system --user-group --home-dir /var/lib/svc-gateway --no-create-home --shell /usr/sbin/nologin svc-gateway
  fi
  if [ ! -d "$program/$version" ]; then
    rm -rf "$program/.new"
    mkdir -p "$program/.new"
    npm install --global --prefix "$program/.new" --ignore-scripts --no-audit --no-fund --loglevel=error "$tarball"
    mv "$program/.new" "$program/$version"
  fi
  install -m 0755 systemd/backup.sh "$program/backup.sh"
  install -d -m 0755 "$settings" "$units" "${operator%/*}"
  existed=yes
  if [ ! -e "$settings/gateway.env" ]; then
    existed=no
    install -m 0600 systemd/gateway.env.example "$settings/gateway.env"
  fi
  for unit in $unit_names; do install -m 0644 "systemd/$unit" "$units/$unit"; done
  install -m 0755 systemd/svc-gateway.sh "$operator"
  before=$(readlink "$program/current" || echo "$version")
  if [ "$before" != "$version" ] && [ -e "$data/gateway.db" ]; then
    on_system systemctl daemon-reload
    # Backs up, tries the new version on a copy, and goes back where it does not start.
    on_system env SVC_GATEWAY="$program/$version/bin/svc-gateway" "$operator" upgrade --to "$version"
    return
  fi
  # Replaced in one step, so that there is no moment without a program.
  ln -sfn "$version" "$program/current.new" && mv -T "$program/current.new" "$program/current"
  on_system systemctl daemon-reload
  on_system systemctl enable --quiet svc-gateway.service svc-gateway-backup.timer
  if [ "$existed" = yes ]; then
    on_system systemctl restart svc-gateway.service
    on_system systemctl start svc-gateway-backup.timer
    echo "svc-gateway $version runs. Next: svc-gateway doctor"
  else
    echo "Next: svc-gateway init, or edit $settings/gateway.env, then: systemctl start svc-gateway svc-gateway-backup.timer && svc-gateway doctor"
  fi
}

remove_service() {
  echo "This stops and removes the service: its units, $program and $operator."
  if [ "$purge" = yes ]; then
    echo "It also DELETES $settings, $data with all accounts, $backups and the user."
  else
    echo "It keeps $settings, $data, $backups and the user."
  fi
  confirm
  on_system systemctl disable --now --quiet svc-gateway.service svc-gateway-backup.timer || true
  for unit in $unit_names; do rm -f "$units/$unit"; done
  rm -f "$operator"
  rm -rf "$program" "$cache"
  on_system systemctl daemon-reload
  if [ "$purge" = yes ]; then
    rm -rf "$settings" "$data" "$backups"
    if getent passwd svc-gateway >/dev/null; then on_system userdel svc-gateway; fi
  fi
}

if [ -z "$prefix" ] && [ "$(id -u)" != 0 ]; then fail 'Run it as root.'; fi
case $command in
  install) install_service ;;
  remove) remove_service ;;
  *) sed -n '2,7s/^# \{0,1\}//p' install.sh; exit 2 ;;
esac
