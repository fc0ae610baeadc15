# Reads ctest's LastTest.log and prints `N passed, N failed`, the sum over all suites of their test cases.
# A suite says its cases as Catch does, or as `N passed, N failed`; one that says nothing counts as one case.

/^[0-9]+\/[0-9]+ Testing: / { cases = -1; bad = 0 }
/^All tests passed \(/ { cases = number_before(" test case") }
/^test cases: / { cases = $3; bad = number_before(" failed") }
/^[0-9]+ passed, [0-9]+ failed$/ { cases = $1 + $3; bad = $3 }
/^No tests ran/ { cases = 0 }
/^Unable to find executable/ { failed += 1; missing += 1 }
/^Test (Passed|Failed)\./ {
  if (cases < 0) cases = missing > 0 && missing-- > 0 ? 0 : 1
  if ($2 ~ /^Failed/ && bad == 0) { cases = 1; bad = 1 }
  passed += cases - bad
  failed += bad
}
END { printf "%d passed, %d failed\n", passed, failed }

# The whole number that stands before `words` in this line, or 0.
function number_before(words) {
  return match($0, "[0-9]+" words) ? substr($0, RSTART, RLENGTH) + 0 : 0
}
