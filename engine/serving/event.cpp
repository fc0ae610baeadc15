// Subjects of events: the third part of the total order.
#include "engine/serving/event.h"

namespace servetwin {
namespace {

struct Subject {
  std::uint32_t operator()(const Cancelled& e) const { return raw(e.request); }
  std::uint32_t operator()(const SequenceOut& e) const { return raw(e.request); }
  std::uint32_t operator()(const StepDone& e) const { return raw(e.replica); }
  std::uint32_t operator()(const Ready& e) const { return raw(e.request); }
  std::uint32_t operator()(const ReplicaChanged& e) const { return raw(e.replica); }
  std::uint32_t operator()(const ClientWindow& e) const { return raw(e.request); }
  std::uint32_t operator()(const Admin& e) const { return raw(e.replica); }
  std::uint32_t operator()(const Arrived& e) const { return raw(e.request); }
  std::uint32_t operator()(const PlanDue& e) const { return raw(e.replica); }
};

}  // namespace

std::uint32_t subject_of(const Event& event) { return std::visit(Subject{}, event); }

}  // namespace servetwin
