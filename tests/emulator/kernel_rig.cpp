// Rounding is the CPU twin's own.
#include "tests/emulator/kernel_rig.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "engine/base/dequantise.h"
#include "kernels/attention/kv_elements.h"
#include "tests/emulator/machine.h"
#include "tests/support/catch.h"

namespace servetwin::emulator {
namespace {

std::size_t element_bytes(DType dtype) { return static_cast<std::size_t>(layout_of(dtype).block_bytes); }

}  // namespace

FloatArray::FloatArray(DType dtype, std::size_t count)
    : dtype_(dtype), count_(count), bytes_(count * element_bytes(dtype), element_bytes(dtype), "a buffer") {
  bytes_.set_unwritten();
}

FloatArray::FloatArray(DType dtype, const std::vector<float>& values) : FloatArray(dtype, values.size()) {
  const auto size = static_cast<std::int64_t>(values.size());
  if (size > 0) store_elements(dtype, values.data(), size, bytes_.data(), 0, nullptr);
  bytes_.set_written();
}

std::vector<float> FloatArray::values() const {
  std::vector<float> values(count_);
  dequantise(dtype_, {static_cast<const std::byte*>(bytes_.data()), bytes_.size()}, values);
  return values;
}

std::vector<float> rounded(DType dtype, const std::vector<float>& values) {
  if (values.empty()) return values;
  std::vector<std::byte> bytes(values.size() * element_bytes(dtype));
  store_elements(dtype, values.data(), static_cast<std::int64_t>(values.size()), bytes.data(), 0, nullptr);
  std::vector<float> stored(values.size());
  dequantise(dtype, bytes, stored);
  return stored;
}

float cached_number(DType dtype, const std::byte* bytes, std::size_t i) {
  if (!has_scales(dtype)) {
    float number = 0;
    dequantise(dtype, {bytes + i * element_bytes(dtype), element_bytes(dtype)}, {&number, 1});
    return number;
  }
  const int bits = std::to_integer<int>(bytes[i]);
  if (dtype == DType::kI8) return static_cast<float>(static_cast<std::int8_t>(bits));
  const int exponent = bits >> 3 & 15;
  const auto fraction = static_cast<float>((bits & 7) + (exponent == 0 ? 0 : 8));
  return std::ldexp(fraction, std::max(exponent, 1) - 10) * ((bits & 128) != 0 ? -1.0F : 1.0F);
}

std::int64_t some_number(std::uint64_t name, std::uint32_t index, std::int64_t low, std::int64_t high) {
  const double unit = draw_unit({11, Stream::kTest, name}, index);
  return low + static_cast<std::int64_t>(unit * static_cast<double>(high - low + 1));
}

bool is_close(const std::vector<float>& values,
              const std::vector<float>& exact,
              const std::vector<float>& plain) {
  REQUIRE(values.size() == exact.size());
  REQUIRE(plain.size() == exact.size());
  double largest = 1;
  double plain_error = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (!std::isfinite(plain[i])) continue;
    largest = std::max(largest, std::abs(static_cast<double>(exact[i])));
    plain_error =
        std::max(plain_error, std::abs(static_cast<double>(plain[i]) - static_cast<double>(exact[i])));
  }
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const bool both_nan = std::isnan(values[i]) && std::isnan(plain[i]);
    if (both_nan || values[i] == plain[i]) continue;
    const double error = std::abs(static_cast<double>(values[i]) - static_cast<double>(exact[i]));
    if (error <= 2 * plain_error + 1e-5 * largest) continue;
    UNSCOPED_INFO("element " << i << " is " << values[i] << ", not " << exact[i] << " within "
                             << 2 * plain_error + 1e-5 * largest);
    return false;
  }
  return true;
}

bool is_close(const std::vector<float>& values, const std::vector<float>& exact, DType dtype) {
  return is_close(values, exact, rounded(dtype, exact));
}

bool is_noticed(const std::function<bool()>& run) {
  try {
    return !run();
  } catch (const Fault&) {
    return true;
  }
}

void check_no_barrier_can_go(std::size_t barriers, const std::function<bool()>& run) {
  std::set<BarrierName> met;
  {
    const Emulation emulation;
    CHECK(run());
    met = emulation.barriers();
  }
  CHECK(met.size() == barriers);
  if (!checks_races()) {
    WARN("SKIPPED: barriers are not dropped where the checker is not told of accesses");
    return;
  }
  for (const BarrierName& barrier : met) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      CAPTURE(barrier.first, barrier.second, seed);
      const Emulation emulation({seed, barrier});
      CHECK(is_noticed(run));
    }
  }
}

void under_nine_seeds(const std::function<void(std::uint64_t)>& check) {
  for (std::uint64_t seed = 0; seed < 9; ++seed) {
    CAPTURE(seed);
    const Emulation emulation({seed, {}});
    check(seed);
  }
}

}  // namespace servetwin::emulator
