# series.awk: draws a column of steps.csv over time, or with -v y=step_ms the steps' durations. A column of
# the picture is the mean over the steps planned in it; -v longest=1: the maximum. -v until=S, top=N,
# height=ROWS.
BEGIN { FS = ","; width = 72; if (!height) height = 4 }
NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
{
  start = $at["planned_ns"] / 1e9
  end = $at["end_ns"] / 1e9
  time[NR] = start
  value[NR] = y == "step_ms" ? (end - start) * 1e3 : $at[y]
}
END {
  if (!until) until = end
  for (n = 2; n <= NR; ++n) {
    column = int(time[n] * width / until)
    sum[column] += value[n]
    ++count[column]
    if (value[n] > most[column]) most[column] = value[n]
  }
  for (i = 0; i < width; ++i) {
    shown[i] = longest ? most[i] : count[i] ? sum[i] / count[i] : 0
    if (shown[i] > peak) peak = shown[i]
  }
  if (!top) top = peak
  print y
  for (row = height; row >= 1; --row) {
    line = ""
    for (i = 0; i < width; ++i) line = line (shown[i] >= (row - 0.5) * top / height ? "#" : " ")
    sub(/ +$/, "", line)
    printf "%6s |%s\n", row == height ? sprintf("%.0f", top) : "", line
  }
  printf "     0 +0 s%*.0f s\n", width - 5, until
}
