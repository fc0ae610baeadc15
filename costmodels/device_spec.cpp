// Reads a device and picks the peak rate that a number format computes at.
#include "costmodels/device_spec.h"

namespace servetwin {

std::optional<FlopsPerSecond> peak_for(const DeviceSpec& device, DType weights) {
  switch (weights) {
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return device.peak.fp8;
    case DType::kI8:
    case DType::kU8:
      return device.peak.int8;
    case DType::kNvfp4:
      return device.peak.fp4;
    case DType::kF64:
    case DType::kF32:
    case DType::kI64:
    case DType::kI32:
    case DType::kI16:
      return std::nullopt;
    default:
      return device.peak.bf16;
  }
}

Bytes reported_memory(const DeviceSpec& device) {
  return device.reported_memory.value_or(Bytes{device.memory.value / 100 * 99});
}

DeviceSpec device_from(const ConfigNode& node) {
  DeviceSpec device = read_params<DeviceSpec>(node);
  if (device.reported_memory && *device.reported_memory > device.memory) {
    const ConfigNode* given = node.find("reported_memory");
    throw ConfigError(Problem{kCodeInconsistent, given != nullptr ? given->place : node.place,
                              "reported_memory", "is more than the device's memory",
                              "programs are told of a little less"});
  }
  return device;
}

}  // namespace servetwin
