# requests.awk: draws requests.csv, a row a request in order of arrival: "." queued, "p" first scheduled but
# no token yet, "#" producing tokens. -v until=S cuts at S seconds, -v most=N draws the first N requests.
BEGIN { FS = ","; width = 72 }
NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
{
  row = $at["id"] + 0
  if (row > last) last = row
  arrival[row] = $at["arrival_ns"] / 1e9
  scheduled[row] = $at["first_scheduled_ns"] / 1e9
  first[row] = $at["first_token_ns"] / 1e9
  end[row] = $at["end_ns"] / 1e9
  outputs[row] = $at["output_tokens"]
  if (end[row] > horizon) horizon = end[row]
}
END {
  if (until) horizon = until
  if (most && last >= most) last = most - 1
  for (row = 0; row <= last; ++row) {
    if (!(row in end)) continue
    line = ""
    for (i = 0; i < width; ++i) {
      time = (i + 0.5) * horizon / width
      line = line (time < arrival[row] || time >= end[row] ? " " : \
                   time < scheduled[row] ? "." : time < first[row] ? "p" : "#")
    }
    sub(/ +$/, "", line)
    printf "%3d %5d out |%s\n", row, outputs[row], line
  }
  printf "%*s0 s%*.2f s\n", 14, "", width - 5, horizon
}
