# shellcheck shell=bash
# Sourced by the scripts that build.
#
# need_compiler PRESET             installs what the preset needs to be built
# build ROOT PRESET TARGET…        configures if that has not been done, then builds; prints only when it fails

need_compiler() {
  need cmake cmake ninja ninja-build
  case $1 in
    clang) need clang++ clang g++ g++ ;;
    fuzz) need clang++ clang g++ g++ '/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a' libclang-rt-dev ;;
    *) need g++ g++ ;;
  esac
}

build() {
  local root=$1 preset=$2 folder=$1/build/$2
  shift 2
  mkdir -p "$folder"
  # Two builds of one folder at a time would disturb each other.
  (
    flock 9
    if [ ! -f "$folder/build.ninja" ]; then
      quietly "$folder/configure.log" cmake -S "$root" --preset "$preset" || exit
    fi
    quietly "$folder/build.log" cmake --build "$folder" --target "$@"
  ) 9>"$folder/.lock"
}

quietly() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 9>&- </dev/null && return
  cat "$log" >&2
  echo "failed: $*" >&2
  return 1
}
