# Reads ctest's LastTest.log and prints `N passed, N failed`, the sum over all suites of their test cases.
# Catch's last line gives a suite's cases; a failed suite without such a line counts as one failure.

/^[0-9]+\/[0-9]+ Testing: / { cases = -1; bad = 0 }
/^All tests passed \(/ { cases = number_before(" test case"); bad = 0 }
/^test cases: / { cases = $3; bad = number_before(" failed") }
/^No tests ran/ { cases = 0; bad = 0 }
/^Test Passed\.$/ { passed += cases < 0 ? 1 : cases - bad; failed += cases < 0 ? 0 : bad }
/^Test Failed\.$/ {
  if (cases < 0 || bad == 0) { cases = 1; bad = 1 }
  passed += cases - bad
  failed += bad
}
END { printf "%d passed, %d failed\n", passed, failed }

# The whole number that stands before `words` in this line, or 0.
function number_before(words) {
  return match($0, "[0-9]+" words) ? substr($0, RSTART, RLENGTH) + 0 : 0
}
