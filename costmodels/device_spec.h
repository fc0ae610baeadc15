// What one accelerator can do at most, and how close the usual kernels come: read from
// costmodels/devices/*.yaml.
#pragma once

#include <optional>
#include <string>

#include "engine/base/dtype.h"
#include "engine/base/params.h"
#include "engine/base/units.h"

namespace servetwin {

// Dense peaks, without sparsity; none: the device has no such units or no figure is known.
struct DevicePeaks {
  FlopsPerSecond bf16;
  std::optional<FlopsPerSecond> fp8;
  std::optional<FlopsPerSecond> int8;
  std::optional<FlopsPerSecond> fp4;

  template <class Visitor>
  void fields(Visitor& v) {
    v("bf16", bf16, "Dense bf16 or f16.", kRequired, kPositive);
    v("fp8", fp8, "Dense fp8.", kPositive);
    v("int8", int8, "Dense int8.", kPositive);
    v("fp4", fp4, "Dense fp4.", kPositive);
  }
};

// Shares of the peaks that kernels reach, and the time each needs however small its work.
struct KernelEfficiency {
  Duration gemm_base{3'000};
  double gemm_memory = 0.9;
  double gemm_memory_tokens = 2500;
  double gemm_compute = 0.8;
  double gemm_compute_tokens = 0;
  Duration attention_base{12'000};
  double attention_memory = 0.85;
  double attention_compute = 0.55;
  double elementwise_memory = 0.8;
  Duration all_reduce_base{5'000};
  double all_reduce_bandwidth = 0.6;
  std::string source = "defaults: fitted to H100 tables, not to this device";

  template <class Visitor>
  void fields(Visitor& v) {
    constexpr Range<double, double> kShare{0.01, 1.0};
    v("gemm_base", gemm_base, "Time of a matrix product without work.");
    v("gemm_memory", gemm_memory, "Share of the bandwidth at one token.", kShare);
    v("gemm_memory_tokens", gemm_memory_tokens, "Tokens at which that share has halved.", kPositive);
    v("gemm_compute", gemm_compute, "Share of the peak for very many tokens.", kShare);
    v("gemm_compute_tokens", gemm_compute_tokens,
      "Tokens at which half of that share is reached; 0: always whole.");
    v("attention_base", attention_base, "Time of an attention kernel without work.");
    v("attention_memory", attention_memory, "Share of the bandwidth when the cache is read.", kShare);
    v("attention_compute", attention_compute, "Share of the peak in prefill.", kShare);
    v("elementwise_memory", elementwise_memory, "Share of the bandwidth of norms and activations.", kShare);
    v("all_reduce_base", all_reduce_base, "Time of an all-reduce of a few bytes inside a node.");
    v("all_reduce_bandwidth", all_reduce_bandwidth, "Share of the link's bandwidth.", kShare);
    v("source", source, "Where the figures come from.");
  }
};

struct DeviceSpec {
  std::string name;  // kebab-case, as the file is called
  Bytes memory;
  std::optional<Bytes> reported_memory;
  BytesPerSecond memory_bandwidth;
  DevicePeaks peak;
  BytesPerSecond node_link;
  BytesPerSecond network_link;
  BytesPerSecond host_link;
  int devices_per_node = 1;
  int multiprocessors = 0;
  std::optional<double> power_w;
  std::string operators;
  KernelEfficiency efficiency;
  std::string source;

  template <class Visitor>
  void fields(Visitor& v) {
    v("name", name, "The device's id.", kRequired);
    v("memory", memory, "Device memory, nominal.", kRequired, kPositive);
    v("reported_memory", reported_memory,
      "What the driver tells programs, of which engines take their fraction; none: 99 % of the nominal.",
      kPositive);
    v("memory_bandwidth", memory_bandwidth, "Nominal.", kRequired, kPositive, kBytesOnly);
    v("peak", peak, "Dense peak rates by number format.", kRequired);
    v("node_link", node_link, "To the other devices of the node, each direction.", kRequired, kPositive);
    v("network_link", network_link, "To other nodes, per device and direction.", kRequired, kPositive);
    v("host_link", host_link, "To host memory, each direction.", kRequired, kPositive);
    v("devices_per_node", devices_per_node, "Devices that node_link joins.", kRequired, AtLeast{1});
    v("multiprocessors", multiprocessors, "Streaming multiprocessors; 0: not a GPU, or not known.",
      AtLeast{0});
    v("power_w", power_w, "Board power in watts.", kPositive);
    v("operators", operators,
      "Whose operator profile holds here, its own or the nearest device's; empty: none.");
    v("efficiency", efficiency, "How close the usual kernels come to the peaks.");
    v("source", source, "Where the figures come from.", kRequired);
  }
};

// What programs are told of its memory.
Bytes reported_memory(const DeviceSpec& device);

// The peak for matrix products with such weights: formats that only compress weights (int4, GGUF, mxfp4)
// compute in bf16. None when the device has no units for the format.
std::optional<FlopsPerSecond> peak_for(const DeviceSpec& device, DType weights);

// Of a device file's tree; throws ConfigError naming file and field. The file is costmodels/devices/<id>.yaml
// in the first folder that has it (engine/base/data_files.h).
DeviceSpec device_from(const ConfigNode& node);

}  // namespace servetwin
