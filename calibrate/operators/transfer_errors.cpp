// The profile's numbers scaled to the device's limits, as a device without measurements borrows them.
#include "calibrate/operators/transfer_errors.h"

#include <map>
#include <utility>

namespace servetwin {
namespace {

// Its own formula's, or that of the other generation's attention kernels, which a borrowing device gets as
// well.
const OperatorFit* borrowed_fit(const OperatorProfile& profile, const OperatorSample& sample) {
  const OperatorFit* fit = profile.find(sample.formula, sample.part);
  const std::size_t generation = sample.formula.rfind("_fa");
  if (fit != nullptr || generation == std::string::npos) return fit;
  const char* other = sample.formula.compare(generation, std::string::npos, "_fa2") == 0 ? "_fa3" : "_fa2";
  return profile.find(sample.formula.substr(0, generation) + other, sample.part);
}

}  // namespace

TransferErrors transfer_errors(const OperatorSamples& samples,
                               const DeviceSpec& device,
                               const OperatorProfile& profile,
                               double shortest_us) {
  struct Calls {
    std::vector<double> measured;
    std::vector<double> predicted;
  };
  TransferErrors out;
  Calls all;
  std::map<std::pair<std::string, std::string>, std::vector<const OperatorSample*>> parts;
  for (const OperatorSample& sample : samples.operators) {
    if (sample.us <= shortest_us) {
      ++out.short_calls;
    } else if (borrowed_fit(profile, sample) == nullptr) {
      ++out.unknown;
    } else {
      parts[{sample.formula, sample.part}].push_back(&sample);
    }
  }
  for (const auto& [key, calls] : parts) {
    const FittedOperator borrowed =
        operator_of(*borrowed_fit(profile, *calls.front()), profile.gpu(), limits_of(device));
    Calls of_part;
    for (const OperatorSample* call : calls) {
      const double predicted = borrowed.us(call->dims);
      for (Calls* both : {&of_part, &all}) {
        both->measured.push_back(call->us);
        both->predicted.push_back(predicted);
      }
    }
    out.parts.push_back({key.first, key.second, error_of(of_part.measured, of_part.predicted)});
  }
  out.all = error_of(all.measured, all.predicted);
  return out;
}

}  // namespace servetwin
