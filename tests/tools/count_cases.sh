#!/usr/bin/env bash
# count_cases.sh SOURCE: if it fails, the last line of ./tools/test does not say how many test cases passed.
set -euo pipefail

# expect COUNTS: what tools/count_cases.awk makes of the log on standard input.
expect() {
  local counts
  counts=$(awk -f "$source/tools/count_cases.awk")
  if [ "$counts" != "$1" ]; then
    echo "counted '$counts', not '$1'"
    exit 1
  fi
}

source=$1
expect "2 passed, 0 failed" \
  <<<$'1/1 Testing: a\nAll tests passed (9 assertions in 2 test cases)\nTest Passed.'
expect "2 passed, 1 failed" <<<$'1/1 Testing: a\ntest cases: 3 | 2 passed | 1 failed\nTest Failed.'
expect "0 passed, 1 failed" <<<$'1/1 Testing: a\ntest cases: 1 | 1 failed\nTest Failed.'
expect "0 passed, 0 failed" <<<$'1/1 Testing: a\nNo tests ran\nTest Passed.'
expect "4 passed, 1 failed" <<<$'1/1 Testing: docs\n4 passed, 1 failed\nTest Failed.'
expect "1 passed, 0 failed" <<<$'1/1 Testing: script\nTest Passed.'
expect "0 passed, 1 failed" <<<$'1/1 Testing: script, or a crash, or a timeout\nTest Failed.'
expect "0 passed, 1 failed" <<<$'Unable to find executable: a\n1/1 Testing: a\nTest Passed.'
expect "0 passed, 1 failed" \
  <<<$'1/1 Testing: leaks\nAll tests passed (1 assertion in 1 test case)\nTest Failed.'
expect "3 passed, 1 failed" <<LOG
2/2 Testing: b
All tests passed (1 assertion in 1 test case)
Test Passed.
1/2 Testing: a
test cases: 3 | 2 passed | 1 failed
Test Failed.
LOG
