#!/usr/bin/env bash
# run.sh MPIEXEC PROGRAM RANKS: runs the program's cases on so many ranks of Open MPI and prints what rank 0
# says, or all of them if one failed. RANKS `lost`: the cases in which rank 1 of three is killed or late.
set -uo pipefail
mpiexec=$1
program=$2
ranks=$3

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
export LOGS=$logs
# As root too, and without spinning: there may be more ranks than cores. Containers forbid single copies.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_rmaps_base_oversubscribe=1

# run RANKS ARGUMENT...: each rank writes to a file of its own.
run() {
  local n=$1
  shift
  timeout 600 "$mpiexec" -np "$n" "$@" >"$logs/mpiexec" 2>&1 </dev/null
}
to_log='exec "$0" "$@" >"$LOGS/rank$OMPI_COMM_WORLD_RANK" 2>&1'

say_all() {
  tail -n +1 "$logs"/*
}

if [ "$ranks" != lost ]; then
  if run "$ranks" bash -c "$to_log" "$program"; then
    cat "$logs/rank0"
    exit 0
  fi
  say_all
  exit 1
fi

# Who is killed takes the others with it unless mpiexec is told to let them be.
passed=0
failed=0
for case in killed late; do
  rm -f "$logs"/*
  run 3 --enable-recovery bash -c "$to_log" "$program" "[$case]"
  for rank in 0 2 $([ $case = late ] && echo 1); do
    if grep -q '^All tests passed' "$logs/rank$rank"; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
    fi
  done
  [ $failed = 0 ] || say_all
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
