// Attention is interpolated in tokens, never in their logarithms: its work is a sum of products of them.
#include "costmodels/layer_times.h"

#include <algorithm>
#include <optional>

#include "engine/base/check.h"
#include "engine/base/csv_table.h"
#include "engine/base/params.h"

namespace servetwin {
namespace {

double between(double low, double high, double part) { return low + (high - low) * part; }

void add_hash(Digest& digest, const std::string& text) {
  digest.add(text.size());
  for (const char c : text) digest.add(static_cast<unsigned char>(c));
}

constexpr double kMostTokens = 1e9;
constexpr double kMostUs = 1e9;

[[noreturn]] void refuse(const CsvTable& table, std::size_t row, const std::string& what) {
  throw ConfigError(Problem{kCodeOutOfRange, table.place(row), "", what, "write the tables again"});
}

double count_at(const CsvTable& table, std::size_t row, std::size_t column) {
  const auto count = static_cast<double>(table.whole(row, column));
  if (count < 0 || count > kMostTokens) refuse(table, row, "a count is " + table.text(row, column));
  return count;
}

double us_at(const CsvTable& table, std::size_t row, std::size_t column) {
  const double us = table.number(row, column);
  if (us < 0 || us > kMostUs) refuse(table, row, "a time is " + table.text(row, column) + " us");
  return us;
}

std::map<std::string, TimeTable> read_tables(const std::string& file, const char* by, Digest& digest) {
  const CsvTable table = CsvTable::read(file);
  const std::size_t layer = table.column("layer");
  const std::size_t x = table.column(by);
  const std::size_t us = table.column("time_us");
  std::map<std::string, TimeTable> tables;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    tables[table.text(row, layer)].add(count_at(table, row, x), us_at(table, row, us));
    for (const std::size_t column : {layer, x, us}) add_hash(digest, table.text(row, column));
  }
  for (auto& [name, one] : tables) one.sort();
  return tables;
}

AttentionTable read_attention(const std::string& file, Digest& digest) {
  const CsvTable table = CsvTable::read(file);
  std::array<std::size_t, AttentionTable::kAxes> columns{table.column("prefill_chunk"),
                                                         table.column("kv_prefill"), table.column("n_decode"),
                                                         table.column("kv_decode")};
  const std::size_t us = table.column("time_us");
  AttentionTable attention;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    AttentionTable::Point point{};
    for (std::size_t axis = 0; axis < columns.size(); ++axis) {
      point[axis] = count_at(table, row, columns[axis]);
      add_hash(digest, table.text(row, columns[axis]));
    }
    attention.add(point, us_at(table, row, us));
    add_hash(digest, table.text(row, us));
  }
  attention.finish();
  return attention;
}

}  // namespace

void TimeTable::sort() {
  std::stable_sort(points_.begin(), points_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::pair<double, double>> unique;
  for (const auto& point : points_) {
    if (!unique.empty() && unique.back().first == point.first) unique.pop_back();
    unique.push_back(point);
  }
  points_ = std::move(unique);
}

double TimeTable::at(double x) const {
  CHECK_INVARIANT(!points_.empty());
  if (points_.size() == 1 || x <= points_.front().first) return points_.front().second;
  std::size_t above = 1;
  while (above + 1 < points_.size() && points_[above].first < x) ++above;
  const auto& low = points_[above - 1];
  const auto& high = points_[above];
  return between(low.second, high.second, (x - low.first) / (high.first - low.first));
}

AttentionTable::Place AttentionTable::place_of(std::size_t axis, double x) const {
  const std::vector<double>& points = axes_[axis];
  if (points.size() == 1) return {0, 0};
  std::size_t below = 0;
  while (below + 2 < points.size() && points[below + 1] <= x) ++below;
  return {below, (x - points[below]) / (points[below + 1] - points[below])};
}

std::size_t AttentionTable::index_of(const std::array<std::size_t, kAxes>& at) const {
  std::size_t index = 0;
  for (std::size_t axis = 0; axis < kAxes; ++axis) index = index * axes_[axis].size() + at[axis];
  return index;
}

// The time of one half alone (axes `first` and the next), 0 where it is empty.
double AttentionTable::half(std::size_t first, std::size_t a, std::size_t b) const {
  if (axes_[first][a] == 0) return 0;
  const auto measured = [&](std::size_t second) -> std::optional<double> {
    Point point{};
    point[first] = axes_[first][a];
    point[first + 1] = axes_[first + 1][second];
    const auto found = measured_.find(point);
    return found == measured_.end() ? std::nullopt : std::optional<double>(found->second);
  };
  if (const auto value = measured(b)) return *value;
  std::vector<std::size_t> known;
  for (std::size_t i = 0; i < axes_[first + 1].size(); ++i) {
    if (measured(i)) known.push_back(i);
  }
  if (known.empty()) return 0;
  const std::vector<double>& axis = axes_[first + 1];
  if (known.size() == 1 || b < known.front())
    return *measured(b < known.front() ? known.front() : known.back());
  std::size_t high = 1;
  while (high + 1 < known.size() && known[high] < b) ++high;
  const double low_x = axis[known[high - 1]];
  const double part = (axis[b] - low_x) / (axis[known[high]] - low_x);
  return between(*measured(known[high - 1]), *measured(known[high]), part);
}

void AttentionTable::finish() {
  CHECK_INVARIANT(!measured_.empty());
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    for (const auto& [point, us] : measured_) axes_[axis].push_back(point[axis]);
    std::sort(axes_[axis].begin(), axes_[axis].end());
    axes_[axis].erase(std::unique(axes_[axis].begin(), axes_[axis].end()), axes_[axis].end());
  }
  std::array<std::size_t, kAxes> at{};
  const auto fill = [&](auto&& self, std::size_t axis) -> void {
    if (axis < kAxes) {
      for (at[axis] = 0; at[axis] < axes_[axis].size(); ++at[axis]) self(self, axis + 1);
      return;
    }
    const Point point{axes_[0][at[0]], axes_[1][at[1]], axes_[2][at[2]], axes_[3][at[3]]};
    const auto found = measured_.find(point);
    values_.push_back(found != measured_.end() ? found->second
                                               : half(0, at[0], at[1]) + half(2, at[2], at[3]));
  };
  fill(fill, 0);
  measured_.clear();
}

double AttentionTable::at(const Point& point) const {
  std::array<Place, kAxes> places{};
  for (std::size_t axis = 0; axis < kAxes; ++axis) places[axis] = place_of(axis, point[axis]);
  double sum = 0;
  for (std::size_t corner = 0; corner < (std::size_t{1} << kAxes); ++corner) {
    double weight = 1;
    std::array<std::size_t, kAxes> index{};
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      const bool high = (corner >> axis & 1U) != 0;
      weight *= high ? places[axis].part : 1 - places[axis].part;
      index[axis] = std::min(places[axis].below + (high ? 1 : 0), axes_[axis].size() - 1);
    }
    if (weight != 0) sum += weight * values_[index_of(index)];
  }
  return sum;
}

std::array<double, 2> AttentionTable::piece_of(double context) const {
  const std::vector<double>& points = axes_[3];
  const std::size_t below = place_of(3, context).below;
  const bool last = below + 2 >= points.size();
  return {below == 0 ? 0 : points[below], last ? std::numeric_limits<double>::infinity() : points[below + 1]};
}

LayerTimes read_layer_times(const std::string& prefix) {
  LayerTimes times;
  Digest digest;
  times.by_tokens = read_tables(prefix + "dense.csv", "tokens", digest);
  times.by_sequences = read_tables(prefix + "per_sequence.csv", "sequences", digest);
  times.attention = read_attention(prefix + "attention.csv", digest);
  times.hash = digest.value();
  return times;
}

}  // namespace servetwin
