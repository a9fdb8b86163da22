# shellcheck shell=bash
# Sourced by the scripts that install what they miss.
#
# need PROBE PACKAGE [PROBE PACKAGE]…
#   A PROBE is a command's name or the absolute path (a pattern may be used) of a file. The packages whose probes fail are
#   installed in one go by apt-get, as root or by sudo. Nothing is done, and nothing is printed, when all are there.

need() {
  local missing=()
  while [ $# -ge 2 ]; do
    if ! is_there "$1" && [[ " ${missing[*]} " != *" $2 "* ]]; then missing+=("$2"); fi
    shift 2
  done
  [ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}"
}

is_there() {
  case $1 in
    /*) compgen -G "$1" >/dev/null ;;
    *) type -P "$1" >/dev/null ;;
  esac
}

install_packages() {
  local as_root=() log
  if ! type -P apt-get >/dev/null; then
    echo "missing: $*; these are names of Debian's packages, and there is no apt-get here: please install them" >&2
    return 1
  fi
  if [ "$(id -u)" -ne 0 ]; then
    if ! type -P sudo >/dev/null; then
      echo "missing: $*; please run as root: apt-get install $*" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "installing $*" >&2
  log=$(mktemp)
  # Lists may be stale or absent on a fresh machine; a service that a package brings is not started (RUNLEVEL).
  if ! { "${as_root[@]}" apt-get update -qq &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
      apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"; } >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    echo "could not install: $*" >&2
    return 1
  fi
  rm -f "$log"
}
