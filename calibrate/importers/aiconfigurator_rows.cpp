// One reader for each table; what a fit cannot use is left out where it says so.
#include "calibrate/importers/aiconfigurator_rows.h"

#include <algorithm>
#include <map>
#include <vector>

#include "costmodels/operators/attention_dims.h"
#include "costmodels/operators/expert_dims.h"
#include "costmodels/operators/tiled_gemm.h"
#include "engine/base/text.h"

namespace servetwin {
namespace {

std::string format_of(const std::string& dtype) {
  static const std::map<std::string, std::string> kNames{
      {"bfloat16", "bf16"}, {"int4_wo", "int4"}, {"w4a16_mxfp4", "mxfp4"}};
  const auto found = kNames.find(dtype);
  return found == kNames.end() ? dtype : found->second;
}

// Columns of one table, looked up once.
class Columns {
 public:
  explicit Columns(const CsvTable& table) : table_(table) {}

  const std::string& text(std::size_t row, const std::string& name) { return table_.text(row, at(name)); }
  double number(std::size_t row, const std::string& name) { return table_.number(row, at(name)); }
  double us(std::size_t row) { return 1e3 * number(row, "latency_ms"); }
  std::string group(std::size_t row, const std::vector<std::string>& names) {
    std::vector<std::string> cells;
    for (const std::string& name : names) cells.push_back(text(row, name));
    return join(cells, " ");
  }

 private:
  std::size_t at(const std::string& name) {
    const auto found = places_.find(name);
    if (found != places_.end()) return found->second;
    return places_[name] = table_.column(name);
  }

  const CsvTable& table_;
  std::map<std::string, std::size_t> places_;
};

using Reader = void (*)(std::size_t row, Columns& c, OperatorSamples& out);

void gemm(std::size_t row, Columns& c, OperatorSamples& out) {
  const std::string part = format_of(c.text(row, "dtype"));
  if (part != "bf16" && part != "fp8" && part != "fp8_block") return;
  Dims dims{};
  dims[kGemmM] = c.number(row, "m");
  dims[kGemmN] = c.number(row, "n");
  dims[kGemmK] = c.number(row, "k");
  dims[kGemmEager] = part == "fp8_block" ? 1 : 0;
  out.operators.push_back({"gemm_" + part, part, c.group(row, {"n", "k"}), dims, c.us(row)});
}

std::string attention_formula(const char* phase, const std::string& kernel) {
  const bool fa3 = kernel.find("fa3") != std::string::npos;
  return std::string("attention_") + phase + (fa3 ? "_fa3" : "_fa2");
}

void add_attention(const char* phase, std::size_t row, Columns& c, const Dims& dims, OperatorSamples& out) {
  const std::string part = format_of(c.text(row, "kv_dtype")) + '/' + c.text(row, "head_dim");
  out.operators.push_back({attention_formula(phase, c.text(row, "kernel")), part,
                           c.group(row, {"heads", "kv_heads", "head_dim", "kv_dtype"}), dims, c.us(row)});
}

void decode(std::size_t row, Columns& c, OperatorSamples& out) {
  Dims dims{};
  dims[kDecodeRows] = c.number(row, "batch");
  dims[kDecodeContext] = c.number(row, "kv_len");
  dims[kDecodeHeads] = c.number(row, "heads");
  dims[kDecodeKvHeads] = c.number(row, "kv_heads");
  dims[kDecodeHeadDim] = c.number(row, "head_dim");
  dims[kDecodeKvBytes] = c.text(row, "kv_dtype") == "fp8" ? 1 : 2;
  add_attention("decode", row, c, dims, out);
}

void prefill(std::size_t row, Columns& c, OperatorSamples& out) {
  if (c.number(row, "isl") < 2) return;  // that is decoding
  Dims dims{};
  dims[kPrefillRows] = c.number(row, "batch");
  dims[kPrefillTokens] = c.number(row, "isl");
  dims[kPrefillCached] = c.number(row, "prefix");
  dims[kPrefillHeads] = c.number(row, "heads");
  dims[kPrefillKvHeads] = c.number(row, "kv_heads");
  dims[kPrefillHeadDim] = c.number(row, "head_dim");
  dims[kPrefillKvBytes] = c.text(row, "kv_dtype") == "fp8" ? 1 : 2;
  add_attention("prefill", row, c, dims, out);
}

bool is_absorbed_kernel(std::size_t row, Columns& c) { return c.text(row, "kernel_source") == "default"; }

void mla_decode(std::size_t row, Columns& c, OperatorSamples& out) {
  if (!is_absorbed_kernel(row, c)) return;  // Triton's kernel of the A100 follows another law
  Dims dims{};
  dims[kDecodeRows] = c.number(row, "batch_size");
  dims[kDecodeContext] = c.number(row, "step") + c.number(row, "isl");
  dims[kDecodeHeads] = c.number(row, "num_heads");
  dims[kDecodeKvHeads] = 1;
  dims[kDecodeKvBytes] = c.text(row, "kv_cache_dtype") == "fp8" ? 1 : 2;
  out.operators.push_back({"mla_decode", format_of(c.text(row, "kv_cache_dtype")),
                           c.group(row, {"num_heads", "kv_cache_dtype"}), dims, c.us(row)});
}

void mla_prefill(std::size_t row, Columns& c, OperatorSamples& out) {
  if (!is_absorbed_kernel(row, c)) return;
  Dims dims{};
  dims[kPrefillRows] = c.number(row, "batch_size");
  dims[kPrefillTokens] = c.number(row, "isl");
  dims[kPrefillCached] = c.number(row, "step");
  dims[kPrefillHeads] = c.number(row, "num_heads");
  dims[kPrefillKvBytes] = c.text(row, "kv_cache_dtype") == "fp8" ? 1 : 2;
  out.operators.push_back({"mla_prefill", format_of(c.text(row, "kv_cache_dtype")),
                           c.group(row, {"num_heads", "kv_cache_dtype"}), dims, c.us(row)});
}

// Kernels of one number format are told apart after a slash, but for the one that a model gets first.
std::string expert_part(const std::string& dtype, const std::string& kernel) {
  const std::string part = format_of(dtype);
  if (part == "fp8_block" && kernel.find("triton") != std::string::npos) return part + "/triton";
  if (part == "mxfp4" && kernel.find("marlin") != std::string::npos) return part + "/marlin";
  return part;
}

void experts(std::size_t row, Columns& c, OperatorSamples& out) {
  // Two models whose experts have no gate: two matrices, not three.
  const std::string shape = c.group(row, {"hidden", "inter"});
  if (shape == "2688 1856" || c.group(row, {"topk", "experts"}) == "22 512") return;
  static const std::map<std::string, double> kBits{
      {"bf16", 16}, {"fp8", 8}, {"fp8_block", 8}, {"int4", 4.25}, {"mxfp4", 4.25}};
  const std::string& routing = c.text(row, "routing");
  Dims dims{};
  dims[kExpertTokens] = c.number(row, "tokens");
  dims[kExpertHidden] = c.number(row, "hidden");
  dims[kExpertWidth] = c.number(row, "inter") / c.number(row, "moe_tp");
  dims[kExpertTopK] = c.number(row, "topk");
  dims[kExpertCount] = c.number(row, "experts");
  dims[kExpertRanks] = c.number(row, "moe_ep");
  const auto bits = kBits.find(format_of(c.text(row, "dtype")));
  if (bits == kBits.end()) return;
  dims[kExpertBits] = bits->second;
  dims[kExpertRate] = bits->second == 8 ? 2 : 1;
  dims[kExpertRouting] = routing == "balanced" ? 0 : (routing == "power_law_1.01" ? 1 : 2);
  out.operators.push_back({"experts", expert_part(c.text(row, "dtype"), c.text(row, "kernel")),
                           c.group(row, {"hidden", "inter", "topk", "experts", "moe_tp", "moe_ep"}), dims,
                           c.us(row)});
}

double element_bytes(const std::string& dtype) { return dtype == "int8" ? 1 : 2; }

void custom_allreduce(std::size_t row, Columns& c, OperatorSamples& out) {
  if (c.text(row, "mode") != "graph") return;
  const double bytes = c.number(row, "elements") * element_bytes(c.text(row, "dtype"));
  out.collectives.push_back(
      {"all_reduce", "custom", static_cast<std::int64_t>(c.number(row, "gpus")), bytes, c.us(row)});
}

void nccl(std::size_t row, Columns& c, OperatorSamples& out) {
  const double bytes = c.number(row, "elements") * element_bytes(c.text(row, "dtype"));
  out.collectives.push_back(
      {c.text(row, "op"), "nccl", static_cast<std::int64_t>(c.number(row, "gpus")), bytes, c.us(row)});
}

const std::map<std::string, Reader>& readers() {
  static const std::map<std::string, Reader> kReaders{
      {"gemm", gemm},   {"attn_generation", decode},           {"attn_context", prefill},
      {"moe", experts}, {"generation_mla", mla_decode},        {"context_mla", mla_prefill},
      {"nccl", nccl},   {"custom_allreduce", custom_allreduce}};
  return kReaders;
}

}  // namespace

bool reads_aiconfigurator_table(const std::string& op) { return readers().count(op) != 0; }

bool add_aiconfigurator_rows(const std::string& op, const CsvTable& table, OperatorSamples& out) {
  const auto reader = readers().find(op);
  if (reader == readers().end()) return false;
  Columns columns(table);
  for (std::size_t row = 0; row < table.num_rows(); ++row) reader->second(row, columns, out);
  return true;
}

}  // namespace servetwin
