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
