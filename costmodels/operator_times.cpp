// Which fit serves which call. Host floors of benchmarks and second-level cache hits are left out: engines
// replay graphs, and other layers run in between.
#include "costmodels/operator_times.h"

#include <algorithm>

#include "costmodels/operators/attention_dims.h"
#include "costmodels/operators/expert_dims.h"
#include "costmodels/operators/tiled_gemm.h"

namespace servetwin {
namespace {

constexpr double kMicro = 1e3;  // nanoseconds

bool is_16_bit(DType type) { return bits_per_element(type) >= 16; }

// Formats that only compress weights, for whose products the 16-bit kernels stand.
bool compresses(DType type) {
  switch (type) {
    case DType::kMxfp4:
    case DType::kNvfp4:
    case DType::kInt4G128:
    case DType::kQ4_0:
    case DType::kQ4_1:
    case DType::kQ5_0:
    case DType::kQ5_1:
    case DType::kQ8_0:
    case DType::kQ2_K:
    case DType::kQ3_K:
    case DType::kQ4_K:
    case DType::kQ5_K:
    case DType::kQ6_K:
      return true;
    default:
      return false;
  }
}

bool is_priced_weight(const DeviceSpec& device, DType type) {
  if (type == DType::kF16 || type == DType::kBF16) return true;
  return (type == DType::kF8E4M3 && device.peak.fp8) || compresses(type);
}

bool is_priced_cache(DType type) {
  return type == DType::kF16 || type == DType::kBF16 || type == DType::kF8E4M3;
}

bool is_native(const DeviceSpec& device, DType weights) {
  if (is_16_bit(weights)) return true;
  if (weights == DType::kF8E4M3) return device.peak.fp8.has_value();
  return weights == DType::kNvfp4 && device.peak.fp4.has_value();
}

// Where a device multiplies blocks of 4 bits, mxfp4 meets activations in 8 bits and is not expanded first.
bool multiplies_mxfp4(const DeviceSpec& device, DType weights) {
  return weights == DType::kMxfp4 && device.peak.fp4 && device.peak.fp8;
}

// Products of experts against the 16-bit peak.
double expert_rate(const DeviceSpec& device, DType weights) {
  if (multiplies_mxfp4(device, weights)) return device.peak.fp8->value / device.peak.bf16.value;
  return is_native(device, weights) ? peak_for(device, weights)->value / device.peak.bf16.value : 1;
}

const OperatorFit* product_fit(const OperatorProfile& profile, const OperatorChoice& choice) {
  const char* part = choice.fp8_scales == Fp8Scales::kBlock ? "fp8_block" : "fp8";
  return profile.find(std::string("gemm_") + part, part);
}

// The fit for a head size: its own, or of the next larger one that was measured.
const OperatorFit* attention_fit(const OperatorProfile& profile,
                                 const std::string& phase,
                                 DType kv,
                                 std::int64_t head_dim) {
  const std::string format = is_16_bit(kv) ? "bf16/" : "fp8/";
  for (const std::int64_t size : {64, 128, 256}) {
    if (size < head_dim && size != 256) continue;
    for (const char* kernel : {"_fa3", "_fa2"}) {
      for (const std::string& wanted : {format, std::string("bf16/")}) {
        const OperatorFit* fit = profile.find("attention_" + phase + kernel, wanted + std::to_string(size));
        if (fit != nullptr) return fit;
      }
    }
  }
  return nullptr;
}

const OperatorFit* latent_fit(const OperatorProfile& profile, const char* formula, DType kv) {
  const OperatorFit* fit = profile.find(formula, is_16_bit(kv) ? "bf16" : "fp8");
  return fit != nullptr ? fit : profile.find(formula, "bf16");
}

const OperatorFit* expert_fit(const OperatorProfile& profile,
                              const DeviceSpec& device,
                              const OperatorChoice& choice) {
  if (is_16_bit(choice.weights)) return profile.find("experts", "bf16");
  // With a scale a channel the tables hold a kernel that is four to five times slower than the one with
  // scales of blocks; engines that serve such models do not show its times.
  const bool in_blocks = choice.weights == DType::kNvfp4 || multiplies_mxfp4(device, choice.weights);
  if (choice.weights == DType::kF8E4M3 || in_blocks) {
    const OperatorFit* fit = profile.find("experts", "fp8_block");
    return fit != nullptr ? fit : profile.find("experts", "bf16");
  }
  const OperatorFit* fit = profile.find("experts", choice.weights == DType::kMxfp4 ? "mxfp4" : "int4");
  return fit != nullptr ? fit : profile.find("experts", "bf16");
}

struct Fits {
  const OperatorFit* plain = nullptr;
  const OperatorFit* quantised = nullptr;  // null: none needed
  const OperatorFit* decode = nullptr;
  const OperatorFit* prefill = nullptr;
  const OperatorFit* experts = nullptr;
};

Fits fits_of(const OperatorProfile& profile,
             const DeviceSpec& device,
             const ModelSpec& model,
             const OperatorChoice& choice) {
  Fits fits;
  fits.plain = profile.find("gemm_bf16", "bf16");
  if (!is_16_bit(choice.weights) && is_native(device, choice.weights))
    fits.quantised = product_fit(profile, choice);
  if (model.is_mla()) {
    fits.decode = latent_fit(profile, "mla_decode", choice.kv);
    fits.prefill = latent_fit(profile, "mla_prefill", choice.kv);
  } else {
    fits.decode = attention_fit(profile, "decode", choice.kv, model.head_dim);
    fits.prefill = attention_fit(profile, "prefill", choice.kv, model.head_dim);
  }
  if (model.is_moe()) fits.experts = expert_fit(profile, device, choice);
  return fits;
}

}  // namespace

std::vector<Problem> operator_problems(const OperatorProfile& profile,
                                       const DeviceSpec& device,
                                       const ModelSpec& model,
                                       const OperatorChoice& choice) {
  std::vector<Problem> problems;
  const auto missing = [&](const std::string& what) {
    problems.push_back({kCodeInconsistent,
                        {},
                        "spec.cost",
                        "the operator profile of " + profile.device + " has no " + what,
                        "choose another dtype, or cost.model analytic"});
  };
  if (device.multiprocessors == 0) {
    problems.push_back({kCodeInconsistent,
                        {},
                        "spec.device",
                        device.name + " states no multiprocessors, which times of kernels need",
                        "add multiprocessors to the device's file"});
  }
  const auto format = [&](const char* path, const std::string& message) {
    problems.push_back({kCodeInconsistent,
                        {},
                        path,
                        message + ", which no measured kernel stands for",
                        "use bf16 or f8e4m3"});
  };
  if (!is_priced_weight(device, choice.weights))
    format("spec.engine.dtype", std::string("weights are ") + name_of(choice.weights) + " on " + device.name);
  if (!is_priced_cache(choice.kv))
    format("spec.engine.kv_dtype", std::string("the cache is ") + name_of(choice.kv));
  const Fits fits = fits_of(profile, device, model, choice);
  if (fits.plain == nullptr) missing("16-bit matrix products");
  const bool needs_own = !is_16_bit(choice.weights) && is_native(device, choice.weights);
  if (needs_own && fits.quantised == nullptr)
    missing(std::string(name_of(choice.weights)) + " matrix products");
  if (fits.decode == nullptr) missing(model.is_mla() ? "latent decode attention" : "decode attention");
  if (fits.prefill == nullptr) missing(model.is_mla() ? "latent prefill attention" : "prefill attention");
  if (model.is_moe() && fits.experts == nullptr) missing("routed experts");
  return problems;
}

OperatorTimes::OperatorTimes(const OperatorProfile& profile,
                             const DeviceSpec& device,
                             const ModelSpec& model,
                             const OperatorChoice& choice)
    : choice_(choice),
      evidence_(profile.device == device.name ? Evidence::kInterpolated : Evidence::kExtrapolated),
      native_(is_native(device, choice.weights)),
      device_(device.name),
      collectives_(profile.collectives) {
  const GpuLimits from = profile.gpu();
  const GpuLimits to = limits_of(device);
  const Fits fits = fits_of(profile, device, model, choice);
  const auto fitted = [&](const OperatorFit* fit) { return operator_of(*fit, from, to); };
  plain_ = fitted(fits.plain);
  if (fits.quantised != nullptr) quantised_ = fitted(fits.quantised);
  decode_ = fitted(fits.decode);
  prefill_ = fitted(fits.prefill);
  if (fits.experts != nullptr) experts_ = fitted(fits.experts);
  const double bits = bits_per_element(choice.weights);
  expert_bits_ = is_16_bit(choice.weights) ? 16 : bits;
  if (choice.weights == DType::kNvfp4) k_share_ = native_ ? 0.5 : 1;
  if (!native_) k_share_ = bits / 16;
  weight_bytes_ = bits / 8;
  byte_ns_ = 1e9 / device.memory_bandwidth.value;
  flop_ns_ = 1e9 / device.peak.bf16.value;
  own_flop_ns_ = native_ ? 1e9 / peak_for(device, choice.weights)->value : flop_ns_;
  expert_rate_ = expert_rate(device, choice.weights);
  if (from.link > 0 && to.link > 0) link_time_ = from.link / to.link;
}

double OperatorTimes::fitted_gemm(double m, double n, double k, bool quantised) const {
  Dims dims{};
  dims[kGemmM] = m;
  dims[kGemmN] = n;
  dims[kGemmK] = k;
  return kMicro * (quantised ? quantised_ : plain_)->us(dims);
}

// Never faster than the device's limits allow, which scaled numbers and corrections do not know.
double OperatorTimes::gemm(double m, double n, double k, bool quantised) const {
  const double read = n * k * (quantised ? weight_bytes_ : 2) * byte_ns_;
  const double computed = 2 * m * n * k * (quantised ? own_flop_ns_ : flop_ns_);
  const double share = quantised ? k_share_ : 1;
  return std::max({fitted_gemm(m, n, k * share, quantised), read, computed});
}

// Formats that only compress weights: read in fewer bytes, computed in 16 bits at three quarters of the peak.
double OperatorTimes::compressed_gemm(double m, double n, double k) const {
  constexpr double kReached = 0.75;
  const double read = n * k * weight_bytes_ * byte_ns_;
  const double computed = 2 * m * n * k * flop_ns_ / kReached;
  return std::max({fitted_gemm(m, n, std::max(1.0, k * k_share_), false), read, computed});
}

double OperatorTimes::product(double tokens, const LayerProduct& product) const {
  if (tokens <= 0) return 0;
  if (!product.quantised || is_16_bit(choice_.weights)) return gemm(tokens, product.n, product.k, false);
  if (!native_) return compressed_gemm(tokens, product.n, product.k);
  return gemm(tokens, product.n, product.k, true);
}

double OperatorTimes::decode(const AttentionShape& shape, double rows, double context) const {
  if (rows <= 0) return 0;
  Dims dims{};
  dims[kDecodeRows] = rows;
  dims[kDecodeContext] = std::max(1.0, context);
  dims[kDecodeHeads] = shape.heads;
  dims[kDecodeKvHeads] = shape.kv_heads;
  dims[kDecodeHeadDim] = shape.head_dim;
  dims[kDecodeKvBytes] = shape.kv_bytes;
  dims[kDecodeCold] = 1;
  return kMicro * decode_->us(dims);
}

double OperatorTimes::prefill(const AttentionShape& shape, double rows, double tokens, double cached) const {
  if (rows <= 0 || tokens <= 0) return 0;
  Dims dims{};
  dims[kPrefillRows] = std::max(1.0, rows);
  dims[kPrefillTokens] = std::max(1.0, tokens);
  dims[kPrefillCached] = cached;
  dims[kPrefillHeads] = shape.heads;
  dims[kPrefillKvHeads] = shape.kv_heads;
  dims[kPrefillHeadDim] = shape.head_dim;
  dims[kPrefillKvBytes] = shape.kv_bytes;
  return kMicro * prefill_->us(dims);
}

double OperatorTimes::experts(double tokens, const ExpertLayers& layers) const {
  if (tokens <= 0 || layers.count <= 0) return 0;
  Dims dims{};
  dims[kExpertTokens] = tokens;
  dims[kExpertHidden] = layers.hidden;
  dims[kExpertWidth] = layers.width;
  dims[kExpertTopK] = layers.top_k;
  dims[kExpertCount] = layers.experts;
  dims[kExpertRanks] = layers.ranks;
  dims[kExpertBits] = expert_bits_;
  dims[kExpertRate] = expert_rate_;
  dims[kExpertRouting] = static_cast<double>(choice_.routing);
  // A token alone reads its own experts; more tokens read more.
  const double least = std::max(1.0, layers.top_k / layers.ranks) * 3 * layers.hidden * layers.width;
  return std::max(kMicro * experts_->us(dims), least * weight_bytes_ * byte_ns_);
}

// An engine's own kernel before the library's; between two numbers of ranks that were measured, the larger.
const CollectiveTimes* OperatorTimes::nearest(const char* op, int ranks) const {
  const CollectiveTimes* best = nullptr;
  for (const char* by : {"custom", "nccl"}) {
    for (const CollectiveTimes& one : collectives_) {
      if (one.op != op || one.by != by) continue;
      const bool nearer = best == nullptr || (best->ranks < ranks && one.ranks > best->ranks) ||
                          (one.ranks >= ranks && one.ranks < best->ranks);
      if (nearer) best = &one;
    }
    if (best != nullptr) break;
  }
  return best;
}

double OperatorTimes::collective(const char* op, double bytes, int ranks) const {
  if (ranks <= 1 || bytes <= 0) return 0;
  const CollectiveTimes* times = nearest(op, ranks);
  if (times == nullptr) return 0;
  const double base = times->us.front();
  return kMicro * (base + (times->at(bytes) - base) * link_time_);
}

Evidence OperatorTimes::collective_evidence(int ranks) const {
  for (const char* op : {"all_reduce", "all_gather"}) {
    const CollectiveTimes* times = nearest(op, ranks);
    if (times != nullptr && !times->device.empty() && times->device != device_)
      return Evidence::kExtrapolated;
  }
  return evidence_;
}

double OperatorTimes::all_reduce(double bytes, int ranks) const {
  return collective("all_reduce", bytes, ranks);
}
double OperatorTimes::all_gather(double bytes, int ranks) const {
  return collective("all_gather", bytes, ranks);
}

}  // namespace servetwin
