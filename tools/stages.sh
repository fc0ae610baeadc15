# Sourced by the tools: runs a named stage and says on stderr how long it took.

# stage NAME COMMAND...: the command's exit status is the stage's.
stage() {
  local name=$1 started=$SECONDS status=0
  shift
  echo "== $name" >&2
  "$@" || status=$?
  local seconds=$((SECONDS - started))
  printf '== %s: %d s (%d.%d min), %s\n' "$name" "$seconds" $((seconds / 60)) $((seconds % 60 / 6)) \
    "$([ $status = 0 ] && echo ok || echo "failed with $status")" >&2
  return $status
}

# build PRESET [TARGET...]: configures the preset and builds those targets, or all. SERVETWIN_UNITY=ON in the
# environment: libraries and program are compiled a dozen files at a time, as suits what is built only once.
build() {
  local preset=$1
  shift
  cmake --preset "$preset" ${SERVETWIN_UNITY:+-D SERVETWIN_UNITY="$SERVETWIN_UNITY"} >&2 &&
    cmake --build --preset "$preset" --parallel 2 ${*:+--target "$@"} >&2
}
