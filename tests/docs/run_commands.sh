#!/usr/bin/env bash
# run_commands.sh PROGRAM SOURCE: runs the ```sh blocks of README.md and docs/*.md in a copy of the tree. A
# command must exit with 0, or with N when its line ends in `# exits N`. Blocks marked ```text are only shown.
set -uo pipefail
program=$(realpath "$1")
source=$(realpath "$2")

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
tar -C "$source" --exclude=./build --exclude=./runs --exclude=./.git -cf - . | tar -C "$copy" -xf -
mkdir -p "$copy/build/release"
ln -s "$program" "$copy/build/release/servetwin"
cd "$copy" || exit 1
PATH=$copy/build/release:$PATH

# What installs or builds is run by .ci/run itself, in the tree and not in a copy.
run_elsewhere='^ *(\./tools/|tools/|\.ci/|cmake |ctest |sudo |git )'

passed=0
failed=0
run() {
  local page=$1 line=$2 expected=0 status=0
  [[ $line =~ \#\ exits\ ([0-9]+)$ ]] && expected=${BASH_REMATCH[1]}
  bash -o pipefail -c "$line" >output.txt 2>&1 </dev/null || status=$?
  if [ $status = "$expected" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf '%s: exit code %d, not %d: %s\n' "$page" $status "$expected" "$line"
    tail -n 20 output.txt
  fi
}

# The commands of a page, one a line: continuation lines joined, comments and blank lines left out.
commands() {
  awk '/^ *```/ { inside = !inside && $1 == "```sh"; next } inside' "$1" |
    sed -e ':a' -e '/\\$/N; s/\\\n//; ta' | grep -Ev '^ *(#|$)'
}

for page in README.md docs/*.md; do
  [ -f "$page" ] || continue
  while IFS= read -r line; do
    if [[ $line =~ $run_elsewhere ]]; then
      echo "run elsewhere: $line"
    else
      run "$page" "$line"
    fi
  done < <(commands "$page")
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
