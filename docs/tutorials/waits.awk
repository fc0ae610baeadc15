# waits.awk: end-to-end seconds in requests.csv, the mean as a bar. -v name=TEXT labels the line; -v by=COLUMN
# makes a line for each value of that column (class, tenant), in order of the values; -v scale=S is a "#".
BEGIN { FS = ","; if (!scale) scale = 0.5 }
NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
{
  key = by ? by " " $at[by] : "all"
  if (!(key in count)) keys[++known] = key
  seconds = $at["e2e_ns"] / 1e9
  ++count[key]
  sum[key] += seconds
  if (seconds > most[key]) most[key] = seconds
}
END {
  for (i = 2; i <= known; ++i)
    for (j = i; j > 1 && keys[j] < keys[j - 1]; --j) {
      swap = keys[j]
      keys[j] = keys[j - 1]
      keys[j - 1] = swap
    }
  for (i = 1; i <= known; ++i) {
    key = keys[i]
    mean = sum[key] / count[key]
    bar = ""
    while ((length(bar) + 0.5) * scale < mean) bar = bar "#"
    printf "%-12s %-17s %3d requests, mean %5.2f s, longest %5.2f s %s\n", \
      name, key, count[key], mean, most[key], bar
  }
}
