// The formulas are in docs/cost-models.md; only + - * / and comparisons, so every machine gets the same bits.
#include "costmodels/dense_pricer.h"

#include <algorithm>
#include <string>

#include "costmodels/numbers.h"
#include "kernels/activation/silu_and_mul_cost.h"
#include "kernels/collectives/all_reduce_cost.h"
#include "kernels/norm/rms_norm_cost.h"
#include "kernels/rotary/rotary_cost.h"
#include "kernels/sampling/sampling_cost.h"

namespace servetwin {
namespace {

std::string text(std::int64_t n) { return std::to_string(n); }

double bytes_per_element(DType type) { return bits_per_element(type) / 8.0; }

// The larger of two times, and which limit it is; added to what the operation has so far.
void add_work(OpCost& op, Work work, double compute_ns, double memory_ns) {
  op.flops += work.flops;
  op.bytes += work.bytes;
  op.ns += std::max(compute_ns, memory_ns);
  if (op.bound == Bound::kNone) op.bound = compute_ns > memory_ns ? Bound::kCompute : Bound::kMemory;
}

// Time that no work explains; the operation's bound when it is more than half.
void add_overhead(OpCost& op, double ns) {
  op.ns += ns;
  if (2.0 * ns > op.ns) op.bound = Bound::kOverhead;
}

void check_split(const ModelSpec& model, int tp, std::vector<Problem>& problems) {
  const auto refuse = [&](const std::string& message) {
    problems.push_back({kCodeInconsistent, {}, "spec.layout.tp", message, "choose a tp that divides it"});
  };
  const std::string ranks = " among tp " + text(tp) + " ranks";
  if (model.heads % tp != 0) refuse("cannot split " + text(model.heads) + " heads" + ranks);
  if (model.intermediate % tp != 0) refuse("cannot split intermediate " + text(model.intermediate) + ranks);
  const bool kv_fits = model.kv_heads % tp == 0 || tp % model.kv_heads == 0;
  if (!kv_fits) refuse("cannot split or repeat " + text(model.kv_heads) + " kv_heads" + ranks);
}

void check_model(const ModelSpec& model, std::vector<Problem>& problems) {
  const auto refuse = [&](const std::string& what) {
    problems.push_back({kCodeInconsistent,
                        {},
                        "spec.model",
                        model.name + " has " + what + ", which the analytic cost model cannot price",
                        "use a dense model, or cost.model linear or replay"});
  };
  if (model.is_moe()) refuse(text(model.moe.num_experts) + " experts a layer (MoE)");
  if (model.is_mla()) refuse("latent attention (MLA)");
}

}  // namespace

std::vector<Problem> pricing_problems(const CostContext& context) {
  std::vector<Problem> problems;
  const auto add = [&](const char* code, const char* path, std::string message, std::string remedy = "") {
    problems.push_back({code, {}, path, std::move(message), std::move(remedy)});
  };
  if (context.model == nullptr) add(kCodeMissing, "spec.model", "the analytic cost model needs a model");
  if (context.device == nullptr) add(kCodeMissing, "spec.device", "the analytic cost model needs a device");
  if (context.tp < 1) add(kCodeOutOfRange, "spec.layout.tp", "tp is " + text(context.tp));
  if (context.pp != 1) {
    add(kCodeInconsistent, "spec.layout.pp", "pp is " + text(context.pp) + "; pipeline stages are not priced",
        "use pp: 1");
  }
  if (!problems.empty()) return problems;
  const ModelSpec& model = *context.model;
  const DeviceSpec& device = *context.device;
  check_model(model, problems);
  check_split(model, context.tp, problems);
  if (context.tp > device.devices_per_node) {
    add(kCodeInconsistent, "spec.layout.tp",
        "tp " + text(context.tp) + " spans nodes of " + text(device.devices_per_node) +
            " devices, which is not priced");
  }
  const DType weights = context.dtype.value_or(model.dtype);
  if (!peak_for(device, weights)) {
    add(kCodeInconsistent, "spec.device",
        device.name + " states no peak for " + name_of(weights) + " weights",
        "add it under peak in the device's file, or choose another dtype");
  }
  return problems;
}

DensePricer::DensePricer(const CostContext& context, const EngineOverhead& overhead)
    : overhead_(overhead), efficiency_(context.device->efficiency), windows_(layer_windows(context)) {
  const ModelSpec& model = *context.model;
  const DeviceSpec& device = *context.device;
  const DType weights = context.dtype.value_or(model.dtype);
  ranks_ = context.tp;
  layers_ = real(model.layers);
  hidden_ = real(model.hidden);
  intermediate_ = real(model.intermediate) / ranks_;
  vocab_ = real(model.vocab);
  attention_ = {real(model.heads) / ranks_, real(kv_heads_per_rank(model, context.tp)), real(model.head_dim),
                bytes_per_element(context.kv_dtype.value_or(DType::kBF16)), kActivationBytes};
  const double byte_ns = 1e9 / device.memory_bandwidth.value;
  const double flop_ns = 1e9 / device.peak.bf16.value;
  gemm_byte_ns_ = byte_ns / efficiency_.gemm_memory;
  gemm_fade_ = 1.0 / efficiency_.gemm_memory_tokens;
  attention_byte_ns_ = byte_ns / efficiency_.attention_memory;
  attention_flop_ns_ = flop_ns / efficiency_.attention_compute;
  elementwise_byte_ns_ = byte_ns / efficiency_.elementwise_memory;
  link_byte_ns_ = 1e9 / (device.node_link.value * efficiency_.all_reduce_bandwidth);

  const double weight_bytes = bytes_per_element(weights);
  const double gemm_flop_ns = 1e9 / peak_for(device, weights)->value / efficiency_.gemm_compute;
  const double query_width = attention_.heads * attention_.head_dim;
  const double kv_width = attention_.kv_heads * attention_.head_dim;
  const auto layer_gemm = [&](double n, double k) { return Gemm{n, k, weight_bytes, gemm_flop_ns, layers_}; };
  layer_gemms_ = {layer_gemm(query_width + 2.0 * kv_width, hidden_), layer_gemm(hidden_, query_width),
                  layer_gemm(2.0 * intermediate_, hidden_), layer_gemm(hidden_, intermediate_)};
  const double head_bytes = std::max(weight_bytes, kActivationBytes);  // the head is not quantised
  head_ = {real(ceil_div(model.vocab, context.tp)), hidden_, head_bytes, flop_ns / efficiency_.gemm_compute,
           1.0};

  const Work key = attention_decode_work(attention_, 0, 1);
  decode_key_ns_ =
      real(windows_.whole) * std::max(key.bytes * attention_byte_ns_, key.flops * attention_flop_ns_);
}

OpCost DensePricer::decode_keys(double keys) const {
  const Work work = real(windows_.whole) * attention_decode_work(attention_, 0, keys);
  OpCost op;
  add_work(op, work, work.flops * attention_flop_ns_, work.bytes * attention_byte_ns_);
  return op;
}

void DensePricer::add_gemm(OpCost& op, double tokens, const Gemm& gemm) const {
  const Work work = gemm_work({tokens, gemm.n, gemm.k}, gemm.weight_bytes, kActivationBytes);
  const double memory = work.bytes * gemm_byte_ns_ * (1.0 + tokens * gemm_fade_);
  const double compute = 2.0 * gemm.n * gemm.k * (tokens + efficiency_.gemm_compute_tokens) * gemm.flop_ns;
  add_work(op, gemm.count * work, gemm.count * compute, gemm.count * memory);
  add_overhead(op, gemm.count * as_ns(efficiency_.gemm_base));
}

void DensePricer::add_prefill(OpCost& op, const StepShape& shape) const {
  // The shape does not hold Σ context of prefill rows. Both of these bound it from above, and agree where it
  // matters most: short chunks on a long cached prefix.
  const std::int64_t keys = std::min(shape.prefill_q_context, shape.prefill_sequences * shape.max_context);
  const PrefillSums sums{real(shape.prefill_tokens), real(shape.prefill_q_context),
                         real(shape.prefill_q_squared), real(keys)};
  const Work work = real(windows_.whole) * attention_prefill_work(attention_, sums);
  add_work(op, work, work.flops * attention_flop_ns_, work.bytes * attention_byte_ns_);
  if (windows_.windowed == 0) return;
  const std::int64_t seen = std::min(keys, shape.prefill_sequences * windows_.window);
  const Work band = real(windows_.windowed) * attention_pairs_work(attention_, real(shape.prefill_tokens),
                                                                   real(shape.window_pairs), real(seen));
  add_work(op, band, band.flops * attention_flop_ns_, band.bytes * attention_byte_ns_);
}

void DensePricer::add_elementwise(OpCost& op, double tokens) const {
  const Work layer = 2.0 * rms_norm_work(tokens, hidden_, kActivationBytes) +
                     silu_and_mul_work(tokens, intermediate_, kActivationBytes) +
                     rotary_work(tokens, attention_.heads * attention_.head_dim,
                                 attention_.kv_heads * attention_.head_dim, kActivationBytes);
  const Work work = layers_ * layer + rms_norm_work(tokens, hidden_, kActivationBytes);
  add_work(op, work, 0.0, work.bytes * elementwise_byte_ns_);
}

double DensePricer::collective_ns(double sent_bytes) const {
  return as_ns(efficiency_.all_reduce_base) + as_ns(overhead_.all_reduce_skew) + sent_bytes * link_byte_ns_;
}

// After attention and after the feed-forward part of each layer, after the split embedding; then logits are
// gathered.
void DensePricer::add_collectives(OpCost& op, double tokens, double sampled) const {
  if (ranks_ <= 1.0) return;
  const double all_reduces = 2.0 * layers_ + 1.0;
  const double sent = all_reduce_sent_bytes(tokens * hidden_ * kActivationBytes, ranks_);
  const double gathered = sampled * vocab_ * kActivationBytes * (ranks_ - 1.0) / ranks_;
  op.bytes = all_reduces * sent + gathered;
  op.ns = all_reduces * collective_ns(sent) + (sampled > 0 ? collective_ns(gathered) : 0.0);
  op.bound = op.bytes * link_byte_ns_ * 2.0 > op.ns ? Bound::kMemory : Bound::kOverhead;
}

void DensePricer::add_sampling(OpCost& op, double rows) const {
  if (rows <= 0) return;
  const Work work = sampling_work(rows, vocab_, kSamplingPasses);
  op.flops = work.flops;
  op.bytes = work.bytes;
  add_overhead(op, as_ns(overhead_.sampling) + overhead_.sampling_logit_ns * rows * vocab_);
}

// Without a graph the host launches kernels one by one, and the device waits where its products are shorter.
void DensePricer::add_launch(OpCost& op, const StepShape& shape, double device_ns) const {
  double ns = layers_ * as_ns(overhead_.layer);
  if (shape.prefill_sequences > 0) ns += layers_ * as_ns(overhead_.prefill_layer);
  if (shape.graph_size == 0) ns += std::max(0.0, layers_ * as_ns(overhead_.eager_layer) - device_ns);
  add_overhead(op, ns);
}

double DensePricer::host_ns(const StepShape& shape) const {
  double ns = as_ns(overhead_.step) + real(shape.sequences) * as_ns(overhead_.sequence) +
              real(shape.new_sequences) * as_ns(overhead_.new_sequence);
  if (shape.prefill_sequences > 0) ns += as_ns(overhead_.prefill_step);
  return ns;
}

std::array<OpCost, kNumOpClasses> DensePricer::price(const StepShape& shape) const {
  check_window(windows_, shape);
  std::array<OpCost, kNumOpClasses> ops{};
  const auto at = [&](OpClass op) -> OpCost& { return ops[static_cast<std::size_t>(op)]; };
  const double tokens = real(std::max(shape.tokens, shape.graph_size));
  const double sampled = real(shape.sampled_rows);

  OpCost& gemm = at(OpClass::kGemm);
  for (const Gemm& product : layer_gemms_) add_gemm(gemm, tokens, product);
  add_elementwise(at(OpClass::kNorm), tokens);
  add_launch(at(OpClass::kLaunch), shape, gemm.ns);
  if (sampled > 0) add_gemm(gemm, sampled, head_);

  // One kernel serves all rows, so its base time counts once a layer.
  if (shape.prefill_sequences > 0) {
    add_prefill(at(OpClass::kAttentionPrefill), shape);
    add_overhead(at(OpClass::kAttentionPrefill), layers_ * as_ns(efficiency_.attention_base));
  } else {
    add_overhead(at(OpClass::kAttentionDecode), layers_ * as_ns(efficiency_.attention_base));
  }
  if (shape.decode_sequences > 0) {
    const Work rows = layers_ * attention_decode_work(attention_, real(shape.decode_sequences), 0);
    add_work(at(OpClass::kAttentionDecode), rows, 0.0, rows.bytes * attention_byte_ns_);
    const Work seen =
        real(windows_.windowed) * attention_decode_work(attention_, 0, real(shape.window_context));
    add_work(at(OpClass::kAttentionDecode), seen, seen.flops * attention_flop_ns_,
             seen.bytes * attention_byte_ns_);
  }
  add_collectives(at(OpClass::kCollective), tokens, sampled);
  add_sampling(at(OpClass::kSampling), sampled);
  add_overhead(at(OpClass::kHost), host_ns(shape));
  return ops;
}

double DensePricer::base_ns(const StepShape& shape) const {
  double sum = 0;
  for (const OpCost& op : price(shape)) sum += op.ns;
  return sum;
}

}  // namespace servetwin
