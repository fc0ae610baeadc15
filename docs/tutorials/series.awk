# series.awk: draws a column of steps.csv over time, each column of the picture the mean over the steps
# planned in it. -v y=NAME chooses the column, -v until=S, -v top=N and -v height=ROWS fix the axes.
BEGIN { FS = ","; width = 72; if (!height) height = 4 }
NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
{ time[NR] = $at["planned_ns"] / 1e9; value[NR] = $at[y]; end = $at["end_ns"] / 1e9 }
END {
  if (!until) until = end
  for (n = 2; n <= NR; ++n) {
    column = int(time[n] * width / until)
    sum[column] += value[n]
    ++count[column]
  }
  for (i = 0; i < width; ++i) {
    mean[i] = count[i] ? sum[i] / count[i] : 0
    if (mean[i] > peak) peak = mean[i]
  }
  if (!top) top = peak
  print y
  for (row = height; row >= 1; --row) {
    line = ""
    for (i = 0; i < width; ++i) line = line (mean[i] >= (row - 0.5) * top / height ? "#" : " ")
    sub(/ +$/, "", line)
    printf "%6s |%s\n", row == height ? sprintf("%.0f", top) : "", line
  }
  printf "     0 +0 s%*.0f s\n", width - 5, until
}
