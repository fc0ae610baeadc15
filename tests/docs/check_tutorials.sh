#!/usr/bin/env bash
# check_tutorials.sh PROGRAM SOURCE [PAGE...]: runs the lines of docs/tutorials/*.md that begin with "$ " in a
# scratch folder for each page. What a page shows below one must be what it prints, up to a line with "# ".
set -uo pipefail
program=$(realpath "$1")
source=$(realpath "$2")
shift 2

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
ln -s "$program" "$scratch/bin/servetwin"
export PATH=$scratch/bin:$PATH LC_ALL=C
cd "$source/docs/tutorials" || exit 1
[ $# -gt 0 ] || set -- *.md

passed=0
failed=0
# check WHERE COMMAND EXPECTED: trailing blanks count for nothing. A line "$ NAME=..." holds for those below.
check() {
  local printed status=0
  if [[ $2 =~ ^[A-Z]+= ]]; then
    variables+=$2$'\n'
    return
  fi
  printed=$(bash -o pipefail -c "$variables$2" 2>&1 </dev/null) || status=$?
  if [ $status = 0 ] && [ "$(sed 's/ *$//' <<<"$printed")" = "$(sed 's/ *$//' <<<"$3")" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf '%s: exit code %d: %s\n' "$1" $status "$2"
    diff <(printf '%s\n' "$3") <(printf '%s\n' "$printed") | head -n 20
  fi
}

for page in "$@"; do
  mkdir -p "$scratch/$page/docs"
  ln -s "$source/docs/tutorials" "$scratch/$page/docs/tutorials"
  ln -s "$source/scenarios" "$scratch/$page/scenarios"
  mapfile -t lines <"$source/docs/tutorials/$page"
  cd "$scratch/$page" || exit 1
  command= expected= inside= variables=
  number=0
  for line in "${lines[@]}" '```'; do
    number=$((number + 1))
    if [[ $line == '```'* || ( -n $inside && ( $line == '$ '* || $line == '# '* ) ) ]]; then
      [ -z "$command" ] || check "docs/tutorials/$page:$where" "$command" "${expected%$'\n'}"
      command= expected=
    fi
    if [[ $line == '```'* ]]; then
      [ -n "$inside" ] && inside= || inside=yes
    elif [[ -n $inside && $line == '$ '* ]]; then
      command=${line#??}
      where=$number
    elif [[ $command == *\\ && -z $expected ]]; then
      command="${command%\\}${line# }"
    elif [ -n "$command" ]; then
      expected+=$line$'\n'
    fi
  done
done
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed -gt 0 ]
