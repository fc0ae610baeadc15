// Products with weights in blocks. For one row of input, weights go through registers into the sums; for
// more, a panel of weight rows is decoded once and used by every row of input.
#pragma once

#include "kernels/vectors/block_formats.h"
#include "kernels/vectors/kernels.h"

namespace servetwin {

template <class F>
class Multiplier {
 public:
  explicit Multiplier(const MultiplyTask& task)
      : task_(task), whole_parts_(task.columns / kPart), parts_((task.columns + kPart - 1) / kPart) {
    const std::size_t pair = 2 * task.row_bytes;
    ahead_ = pair >= kAhead ? kAhead : (kAhead + pair - 1) / pair * pair;
  }

  template <class Format>
  void run() const {
    if (task_.rows == 1) {
      for (std::int64_t output = task_.first; output < task_.end; output += 2) {
        one_row<Format>(output, output + 1 < task_.end);
      }
      return;
    }
    for (std::int64_t output = task_.first; output < task_.end; output += kPanel) {
      const std::int64_t left = task_.end - output;
      panel<Format>(output, left < kPanel ? left : kPanel);
    }
  }

 private:
  static constexpr std::size_t kAhead = 2048;  // bytes; two short rows are no stream a processor recognises

  const std::byte* row(std::int64_t output) const {
    return task_.weight + static_cast<std::size_t>(output) * task_.row_bytes;
  }

  // The end of a row that is no whole part; zeros follow.
  template <class Format>
  void decode_end(const std::byte* row, F (&out)[4]) const {
    for (F& values : out) values = F::all(0.0F);
    if constexpr (requires { Format::kPartBytes; }) {
      std::byte bytes[Format::kPartBytes] = {};
      const auto begin = static_cast<std::size_t>(whole_parts_ * Format::kPartBytes);
      std::memcpy(bytes, row + begin, task_.row_bytes - begin);
      Format::decode(bytes, 0, out);
    }
  }

  void put(std::int64_t row, std::int64_t output, F sums) const {
    const float offset = task_.bias == nullptr ? 0.0F : task_.bias[output];
    task_.output[row * task_.output_stride + output] = sums.sum() + offset;
  }

  static F with_part(F sum, const float* input, const F (&weights)[4]) {
    for (int i = 0; i < 4; ++i) sum = sum + F::load(input + 8 * i) * weights[i];
    return sum;
  }

  template <class Format>
  F with_part(F sum, const std::byte* row, std::int64_t part) const {
    F weights[4];
    Format::decode(row, part, weights);
    return with_part(sum, task_.input + part * kPart, weights);
  }

  template <class Format>
  void put_with_end(std::int64_t output, F sum) const {
    if (whole_parts_ < parts_) {
      F weights[4];
      decode_end<Format>(row(output), weights);
      sum = with_part(sum, task_.input + whole_parts_ * kPart, weights);
    }
    put(0, output, sum);
  }

  // One or two outputs; two fill the time that each sum waits for itself.
  template <class Format>
  void one_row(std::int64_t output, bool both) const {
    const std::int64_t bytes_per_part = static_cast<std::int64_t>(task_.row_bytes) / parts_;
    const std::byte* first = row(output);
    const std::byte* second = both ? row(output + 1) : first;
    F a = F::all(0.0F);
    F b = a;
    for (std::int64_t part = 0; part < whole_parts_; ++part) {
      const std::byte* next = first + part * bytes_per_part + ahead_;
      __builtin_prefetch(next);
      __builtin_prefetch(next + task_.row_bytes);
      a = with_part<Format>(a, first, part);
      b = with_part<Format>(b, second, part);
    }
    put_with_end<Format>(output, a);
    if (both) put_with_end<Format>(output + 1, b);
  }

  template <class Format>
  void panel(std::int64_t output, std::int64_t outputs) const {
    for (std::int64_t o = 0; o < outputs; ++o) {
      float* to = task_.scratch + o * task_.input_stride;
      F weights[4];
      for (std::int64_t part = 0; part < whole_parts_; ++part, to += kPart) {
        Format::decode(row(output + o), part, weights);
        for (int i = 0; i < 4; ++i) weights[i].store(to + 8 * i);
      }
      if (whole_parts_ == parts_) continue;
      decode_end<Format>(row(output + o), weights);
      for (int i = 0; i < 4; ++i) weights[i].store(to + 8 * i);
    }
    std::int64_t row = 0;
    for (; row + 4 <= task_.rows; row += 4) tiles<4>(row, output, outputs);
    const std::int64_t left = task_.rows - row;
    if (left == 3) tiles<3>(row, output, outputs);
    if (left == 2) tiles<2>(row, output, outputs);
    if (left == 1) tiles<1>(row, output, outputs);
  }

  template <int rows>
  void tiles(std::int64_t row, std::int64_t output, std::int64_t outputs) const {
    for (std::int64_t o = 0; o + 2 <= outputs; o += 2) tile<rows, 2>(row, output, o);
    if (outputs % 2 == 1) tile<rows, 1>(row, output, outputs - 1);
  }

  template <int rows, int outputs>
  void tile(std::int64_t row, std::int64_t output, std::int64_t in_panel) const {
    F sums[std::size_t{outputs}][std::size_t{rows}] = {};
    const float* weight = task_.scratch + in_panel * task_.input_stride;
    const float* input = task_.input + row * task_.input_stride;
    for (std::int64_t i = 0; i < parts_ * kPart; i += 8) {
      F inputs[std::size_t{rows}];
      for (int r = 0; r < rows; ++r) inputs[r] = F::load(input + r * task_.input_stride + i);
      for (int o = 0; o < outputs; ++o) {
        const F weights = F::load(weight + o * task_.input_stride + i);
        for (int r = 0; r < rows; ++r) sums[o][r] = sums[o][r] + inputs[r] * weights;
      }
    }
    for (int o = 0; o < outputs; ++o) {
      for (int r = 0; r < rows; ++r) put(row + r, output + in_panel + o, sums[o][r]);
    }
  }

  const MultiplyTask& task_;
  std::int64_t whole_parts_;
  std::int64_t parts_;
  std::size_t ahead_;
};

}  // namespace servetwin
