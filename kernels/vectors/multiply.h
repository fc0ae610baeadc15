// Products with weights in blocks. For one row of input, weights go from their blocks through registers into
// the sums; for more, a panel of weight rows is decoded once and used by every row of input.
#pragma once

#include "kernels/vectors/block_formats.h"
#include "kernels/vectors/kernels.h"

namespace servetwin {

template <class F>
class Multiplier {
 public:
  explicit Multiplier(const MultiplyTask& task)
      : task_(task), whole_parts_(task.columns / kPart), parts_((task.columns + kPart - 1) / kPart) {
    // Two short rows at a time are no stream that a processor recognises: it is told what comes next.
    const std::size_t pair = 2 * task.row_bytes;
    ahead_ = pair >= kAhead ? kAhead : (kAhead + pair - 1) / pair * pair;
  }

  template <class Format>
  void run() const {
    if (task_.rows == 1) {
      std::int64_t output = task_.first;
      for (; output + 2 <= task_.end; output += 2) one_row<Format, 2>(output);
      for (; output < task_.end; ++output) one_row<Format, 1>(output);
      return;
    }
    for (std::int64_t output = task_.first; output < task_.end; output += kPanel) {
      const std::int64_t left = task_.end - output;
      panel<Format>(output, left < kPanel ? left : kPanel);
    }
  }

 private:
  static constexpr std::size_t kAhead = 4096;  // bytes

  const std::byte* row(std::int64_t output) const {
    return task_.weight + static_cast<std::size_t>(output) * task_.row_bytes;
  }

  // Part `part` of a row, which may be the last and end early: then zeros follow.
  template <class Format>
  void decode(const std::byte* row, std::int64_t part, F (&out)[4]) const {
    if (part < whole_parts_) return Format::decode(row, part, out);
    decode_end<Format>(row, out);
  }

  template <class Format>
  void decode_end(const std::byte* row, F (&out)[4]) const {
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

  template <class Format, int outputs>
  void one_row(std::int64_t output) const {
    const std::int64_t bytes_per_part = static_cast<std::int64_t>(task_.row_bytes) / parts_;
    F sums[std::size_t{outputs}];
    const std::byte* rows[std::size_t{outputs}];
    for (int o = 0; o < outputs; ++o) {
      sums[o] = F::all(0.0F);
      rows[o] = row(output + o);
    }
    for (std::int64_t part = 0; part < parts_; ++part) {
      const float* input = task_.input + part * kPart;
      for (int o = 0; o < outputs; ++o) {
        F weights[4];
        __builtin_prefetch(rows[o] + part * bytes_per_part + ahead_);
        decode<Format>(rows[o], part, weights);
        for (int i = 0; i < 4; ++i) sums[o] = sums[o] + F::load(input + 8 * i) * weights[i];
      }
    }
    for (int o = 0; o < outputs; ++o) put(0, output + o, sums[o]);
  }

  template <class Format>
  void panel(std::int64_t output, std::int64_t outputs) const {
    for (std::int64_t o = 0; o < outputs; ++o) {
      float* to = task_.scratch + o * task_.input_stride;
      for (std::int64_t part = 0; part < parts_; ++part, to += kPart) {
        F weights[4];
        decode<Format>(row(output + o), part, weights);
        for (int i = 0; i < 4; ++i) weights[i].store(to + 8 * i);
      }
    }
    std::int64_t row = 0;
    for (; row + 4 <= task_.rows; row += 4) tiles<4>(row, output, outputs);
    if (row + 3 == task_.rows) return tiles<3>(row, output, outputs);
    if (row + 2 == task_.rows) return tiles<2>(row, output, outputs);
    if (row + 1 == task_.rows) return tiles<1>(row, output, outputs);
  }

  template <int rows>
  void tiles(std::int64_t row, std::int64_t output, std::int64_t outputs) const {
    std::int64_t o = 0;
    for (; o + 2 <= outputs; o += 2) tile<rows, 2>(row, output, o);
    for (; o < outputs; ++o) tile<rows, 1>(row, output, o);
  }

  template <int rows, int outputs>
  void tile(std::int64_t row, std::int64_t output, std::int64_t in_panel) const {
    F sums[std::size_t{outputs}][std::size_t{rows}];
    for (int o = 0; o < outputs; ++o) {
      for (int r = 0; r < rows; ++r) sums[o][r] = F::all(0.0F);
    }
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
