# shellcheck shell=bash
# Sourced by the programs in this folder. Each is a script that defines
#   packages   prints what it needs: a line with a probe and a line with a package for each, as `need` takes them
#   prepare    makes the inputs in $REAL_DATA; the same ones at every run, and never with the library
#   run        runs the program by `preloaded` in an empty folder, and prints what must not depend on the allocator:
#              results or check sums, no times, addresses or names of folders
# and ends with `main "$@"`. `by_length SHORT LONG` prints one or the other for the form of the test.
set -euo pipefail
export LC_ALL=C.UTF-8 TZ=UTC HOME=/nonexistent

real=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
source "$real/../../../dev/lib/packages.sh"

packages() { :; }
prepare() { :; }

# `"${preload[@]}" COMMAND &` for what stays in the background: $! is then the process of COMMAND.
preload=(env ${REAL_LIBRARY:+LD_PRELOAD="$REAL_LIBRARY"})
preloaded() { "${preload[@]}" "$@"; }

by_length() {
  if [ "$REAL_LONG" = yes ]; then echo "$2"; else echo "$1"; fi
}

checksum() { sha256sum | cut -c 1-32; }

# A pseudo-random text of COUNT lines, the same on every machine: words of a small vocabulary with numbers among them.
text() {
  awk -v count="$1" 'BEGIN {
    x = 42
    for (i = 0; i < count; i++) {
      line = ""
      for (j = 0; j < 12; j++) {
        x = (x * 1103515245 + 12345) % 2147483648
        word = int(x / 65536)
        line = line " " (word % 3 == 0 ? word : "word" word % 997)
      }
      print i line
    }
  }'
}

main() {
  case $1 in
    packages | prepare | run) "$1" ;;
    install)
      local pairs
      mapfile -t pairs < <(packages)
      need "${pairs[@]}"
      ;;
    *) return 2 ;;
  esac
}
