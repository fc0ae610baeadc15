#!/usr/bin/env bash
# run.sh BUILD SOURCE: installs a build to a new prefix, builds a consumer against it and runs it. If it
# fails, `cmake --install` leaves out something that users of the package need.
set -euo pipefail
build=$(realpath "$1")
source=$(realpath "$2")
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT

cmake --install "$build" --prefix "$prefix/usr" >/dev/null
data=share/servetwin
for file in bin/servetwin $data/scenarios/quickstart.yaml $data/costmodels/devices/h100-sxm.yaml; do
  [ -e "$prefix/usr/$file" ] || { echo "not installed: $file"; exit 1; }
done
cmake -S "$source/tests/package" -B "$prefix/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$prefix/usr" >/dev/null
cmake --build "$prefix/consumer" >/dev/null
"$prefix/consumer/consumer"

# A plug-in out of tree, with both compilers: its rule decides, and is refused where it must be.
program=$prefix/usr/bin/servetwin
scenario=(preemption --set workload.duration=10s --set engine.rules.waiting_order=longest_first)
for compiler in g++ clang++; do
  cmake -S "$source/tests/package/plugin" -B "$prefix/$compiler" -G Ninja -DCMAKE_PREFIX_PATH="$prefix/usr" \
    -DCMAKE_CXX_COMPILER=$compiler -DCMAKE_BUILD_TYPE=Release >/dev/null
  cmake --build "$prefix/$compiler" >/dev/null
  plugin=$prefix/$compiler/longest_first.so
  "$program" list --plugin "$plugin" | grep -q longest_first || { echo "$compiler: not listed"; exit 1; }
  "$program" --plugin "$plugin" simulate "${scenario[@]}" --out "$prefix/$compiler-run" >/dev/null
  code=0
  "$program" list --plugin "$prefix/$compiler/taken.so" 2>"$prefix/errors" >/dev/null || code=$?
  [ $code = 2 ] && grep -q PLG003 "$prefix/errors" || { echo "$compiler: a taken name is no error"; exit 1; }
done
"$program" diff "$prefix/g++-run" "$prefix/clang++-run" --plugin "$plugin"
"$program" simulate preemption --set workload.duration=10s --out "$prefix/plain" >/dev/null
if "$program" diff "$prefix/g++-run" "$prefix/plain" --plugin "$plugin" >/dev/null; then
  echo "the rule decided nothing"
  exit 1
fi
refused() {
  local code=0
  "$program" list --plugin "$1" 2>"$prefix/errors" >/dev/null || code=$?
  [ $code = 2 ] && grep -q "$2" "$prefix/errors" || { echo "$1 was not refused as $2"; exit 1; }
}
sed 's/servetwin-plugin-abi [0-9.]*/servetwin-plugin-abi 9.9.9/' "$plugin" >"$prefix/old.so"
refused "$prefix/old.so" PLG002
refused "$program" PLG00
refused "$source/README.md" PLG001
refused "$prefix/nosuch.so" PLG001
