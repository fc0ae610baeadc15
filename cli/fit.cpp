// fit: makes the operator profile of a device from measurements of others.
#include <fmt/format.h>
#include <string>

#include "calibrate/importers/importer.h"
#include "calibrate/operators/profile_fit.h"
#include "calibrate/operators/transfer_errors.h"
#include "cli/verb.h"
#include "engine/metrics/output_file.h"
#include "scenarios/devices.h"
#include "scenarios/yaml_loader.h"

namespace servetwin {
namespace {

class Fit final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    arguments.word("FOLDER", folder_, "The measurements.");
    arguments.option("--layout", "NAME", layout_, "How they are laid out; by default aiconfigurator.");
    arguments.option("--device", "DEVICE", device_, "Whose, a device of the catalogue.");
    arguments.option("--all-reduce-of", "DEVICE", all_reduce_of_,
                     "Takes the engine's own all-reduce from that device, whose links are as fast.");
    arguments.option("--unseen-by", "PROFILE", unseen_by_,
                     "Fits nothing: scores that device's profile, scaled to the limits of --device.");
    arguments.option("--out", "FILE", out_, "Where the profile is written; by default nowhere.");
  }

  ExitCode run(Terminal& terminal) override {
    if (device_.empty())
      throw UsageError("servetwin fit: --device is missing: whose measurements are fitted?");
    const DeviceSpec device = find_device(device_);
    const auto importer = Registry<Importer>::instance().make(layout_, ConfigNode{});
    OperatorSamples samples = importer->read(folder_, device.name);
    if (!unseen_by_.empty()) return score_unseen(samples, device, terminal);
    if (!all_reduce_of_.empty()) borrow_all_reduce(importer->read(folder_, all_reduce_of_), device, samples);
    terminal.out(kHeadings);
    const ProfileFit fit = fit_profile(samples, device, [&](const FittedPart& part) {
      terminal.out(row(part.formula, part.part, part.left_out));
    });
    terminal.out(row("collectives", "other sizes", fit.collectives));
    terminal.out("\nErrors are of shapes that a fit did not see: whole groups left out in turn.\n");
    if (!out_.empty()) {
      write_file(out_, write_yaml(write_params(fit.profile), comment()));
      terminal.out("wrote " + out_ + '\n');
    }
    return ExitCode::kOk;
  }

 private:
  inline static const std::string kHeadings = fmt::format(
      "{:<24} {:<18} {:>7} {:>8} {:>8} {:>8}\n", "formula", "part", "calls", "median", "by time", "p90");

  ExitCode score_unseen(const OperatorSamples& samples, const DeviceSpec& device, Terminal& terminal) const {
    if (!out_.empty() || !all_reduce_of_.empty())
      throw UsageError("servetwin fit: --unseen-by fits nothing: leave --out and --all-reduce-of out");
    const OperatorProfile profile = find_operators(unseen_by_);
    if (profile.device == device.name)
      throw UsageError("servetwin fit: the profile was fitted to " + device.name + "'s own calls");
    const TransferErrors errors = transfer_errors(samples, device, profile);
    terminal.out(kHeadings);
    for (const FittedPart& part : errors.parts) terminal.out(row(part.formula, part.part, part.left_out));
    terminal.out(row("all", "", errors.all));
    terminal.out(
        fmt::format("\nErrors of {}'s profile on calls of {} above 20 us, of which it saw none; {} "
                    "shorter calls, and {} of kernels it does not have, are not judged.\n",
                    profile.device, device.name, errors.short_calls, errors.unknown));
    return ExitCode::kOk;
  }

  void borrow_all_reduce(const OperatorSamples& theirs,
                         const DeviceSpec& device,
                         OperatorSamples& out) const {
    if (find_device(all_reduce_of_).node_link != device.node_link) {
      throw UsageError("servetwin fit: " + all_reduce_of_ + "'s links are not as fast as " + device.name +
                       "'s: its all-reduces say nothing of them");
    }
    std::size_t borrowed = 0;
    for (CollectiveSample one : theirs.collectives) {
      if (one.op != "all_reduce" || one.by != "custom") continue;
      one.device = all_reduce_of_;
      out.collectives.push_back(one);
      ++borrowed;
    }
    if (borrowed == 0)
      throw UsageError("servetwin fit: no all-reduce of an engine's own was measured on " + all_reduce_of_);
  }

  static std::string row(const std::string& formula, const std::string& part, const FitError& error) {
    return fmt::format("{:<24} {:<18} {:>7} {:>6.1f} % {:>6.1f} % {:>6.1f} %\n", formula, part, error.samples,
                       100 * error.median, 100 * error.time_median, 100 * error.p90);
  }

  std::string comment() const {
    return "Operator profile of " + device_ +
           ": formulas with numbers fitted to measured calls.\nMade by: servetwin fit FOLDER --layout " +
           layout_ + " --device " + device_ +
           (all_reduce_of_.empty() ? "" : " --all-reduce-of " + all_reduce_of_) + " --out FILE";
  }

  std::string folder_;
  std::string layout_ = "aiconfigurator";
  std::string device_;
  std::string all_reduce_of_;
  std::string unseen_by_;
  std::string out_;
};

const Registered<Verb, Fit> kFit{"fit", "Makes a device's operator profile from measured kernels."};

}  // namespace
}  // namespace servetwin
