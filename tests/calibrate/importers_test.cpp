// If this fails, measurements of others are read as other calls than they were.
#include <filesystem>
#include <fstream>

#include "calibrate/importers/importer.h"
#include "calibrate/operators/profile_fit.h"
#include "costmodels/operators/attention_dims.h"
#include "costmodels/operators/expert_dims.h"
#include "costmodels/operators/tiled_gemm.h"
#include "tests/support/catch.h"

namespace servetwin::importers_test {
namespace {

class Folder {
 public:
  Folder() { std::filesystem::create_directory(path()); }
  ~Folder() { std::filesystem::remove_all(path()); }
  static std::string path() { return "importer_folder"; }
  void write(const std::string& name, const std::string& text) { std::ofstream(path() + '/' + name) << text; }
};

OperatorSamples read(const std::string& device) {
  return Registry<Importer>::instance().make("aiconfigurator", ConfigNode{})->read(Folder::path(), device);
}

TEST_CASE("operator tables become calls with their dimensions") {
  Folder folder;
  folder.write(
      "h100_sxm__gemm__vllm_1.csv",
      "dtype,m,n,k,kernel,latency_ms\nbfloat16,8,32,768,x,0.005\nfp8_block,1,2,3,x,0.1\nnvfp4,1,2,3,x,1\n");
  folder.write(
      "h100_sxm__attn_generation__vllm_1.csv",
      "kernel,kv_dtype,batch,kv_len,heads,kv_heads,head_dim,latency_ms\nflash_fa3,fp8,4,100,32,8,128,0.02\n");
  folder.write("h100_sxm__attn_context__vllm_1.csv",
               "kernel,kv_dtype,batch,isl,prefix,heads,kv_heads,head_dim,latency_ms\n"
               "flash,bfloat16,1,1,0,1,1,128,0.01\nflash,bfloat16,2,64,16,8,4,128,0.03\n");
  folder.write("h100_sxm__moe__vllm_1.csv",
               "dtype,kernel,tokens,hidden,inter,topk,experts,moe_tp,moe_ep,routing,latency_ms\n"
               "bfloat16,x,8,2048,512,8,256,2,4,power_law_1.01,0.03\n");
  folder.write(
      "h100_sxm__custom_allreduce__vllm_1.csv",
      "mode,dtype,gpus,elements,latency_ms\ngraph,bfloat16,2,512,0.004\neager,bfloat16,2,512,0.02\n");
  folder.write("a100_sxm__gemm__vllm_1.csv", "dtype,m,n,k,kernel,latency_ms\nbfloat16,1,1,1,x,1\n");
  const OperatorSamples samples = read("h100-sxm");
  REQUIRE(samples.operators.size() == 5);
  const OperatorSample& prefill = samples.operators[0];
  CHECK(prefill.formula == "attention_prefill_fa2");
  CHECK(prefill.part == "bf16/128");
  CHECK(prefill.dims[kPrefillTokens] == 64);
  CHECK(prefill.dims[kPrefillCached] == 16);
  const OperatorSample& decode = samples.operators[1];
  CHECK(decode.formula == "attention_decode_fa3");
  CHECK(decode.part == "fp8/128");
  CHECK(decode.dims[kDecodeKvBytes] == 1);
  CHECK(decode.us == Approx(20));
  CHECK(samples.operators[2].formula == "gemm_bf16");
  CHECK(samples.operators[2].dims[kGemmN] == 32);
  CHECK(samples.operators[3].dims[kGemmEager] == 1);
  const OperatorSample& experts = samples.operators[4];
  CHECK(experts.dims[kExpertWidth] == 256);
  CHECK(experts.dims[kExpertRouting] == 1);
  REQUIRE(samples.collectives.size() == 1);
  CHECK(samples.collectives.front().bytes == 1024);
}

TEST_CASE("a folder without the device is refused, and so is a table without its columns") {
  Folder folder;
  folder.write("h100_sxm__gemm__vllm_1.csv", "dtype,m,n\nbfloat16,1,2\n");
  CHECK_THROWS_WITH(read("b200-sxm"), Catch::Contains("holds no tables of b200-sxm"));
  CHECK_THROWS_WITH(read("h100-sxm"), Catch::Contains("has no column"));
}

TEST_CASE("a collective's curve keeps sizes four times apart and is tested on the others") {
  OperatorSamples samples;
  samples.source = "by hand";
  for (double bytes = 1024; bytes <= 1 << 24; bytes *= 2)
    samples.collectives.push_back({"all_reduce", "nccl", 2, bytes, 5 + bytes * 1e-5});
  DeviceSpec device;
  device.name = "any";
  device.multiprocessors = 1;
  device.peak.bf16 = FlopsPerSecond{1};
  const ProfileFit fit = fit_profile(samples, device, [](const FittedPart&) {});
  REQUIRE(fit.profile.collectives.size() == 1);
  const CollectiveTimes& curve = fit.profile.collectives.front();
  CHECK(curve.bytes.size() == 8);
  CHECK(curve.at(3 << 20) == Approx(5 + (3 << 20) * 1e-5).epsilon(1e-3));
  CHECK(curve.at(1 << 26) == Approx(5 + (1 << 26) * 1e-5).epsilon(1e-3));
  CHECK(fit.collectives.samples > 0);
  CHECK(fit.collectives.median < 0.01);
}

}  // namespace
}  // namespace servetwin::importers_test
