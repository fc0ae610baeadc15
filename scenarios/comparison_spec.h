// The keys of a comparison file, declared once: reader, defaults, help, JSON Schema and docs derive from
// here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/params.h"
#include "scenarios/scenario_files.h"
#include "scenarios/scenario_spec.h"

namespace servetwin {

enum class ComparisonKind { kComparison };

inline constexpr std::int64_t kMostSeeds = 1000;

struct VariantSpec {
  std::string name;
  std::optional<std::string> scenario;
  std::optional<std::string> preset;
  ConfigNode set;

  template <class Visitor>
  void fields(Visitor& v) {
    v("name", name, "Short name of the variant.", kRequired);
    v("scenario", scenario, "Another scenario than spec.base: a shipped one's name, or a file.");
    v("preset", preset, "Short for set: {engine.preset: NAME}.");
    v("set", set, "What differs from the base: {key.path: value}, as simulate --set, maps merged.");
  }
};

struct ComparisonSpec {
  ConfigNode base;
  ConfigNode set;
  std::vector<VariantSpec> variants;
  std::optional<std::string> baseline;
  ConfigNode seeds;
  std::vector<std::string> judge;
  double confidence = 0.95;
  double tolerance = 0.01;

  template <class Visitor>
  void fields(Visitor& v) {
    v("base", base,
      "The scenario that variants vary: a shipped one's name, a file, or the keys of its spec.");
    v("set", set, "Values of all variants, where they differ from the base: {key.path: value}.");
    v("variants", variants, "What is compared, two or more.", kRequired);
    v("baseline", baseline, "The variant that the others are compared with; by default the first.");
    v("seeds", seeds,
      "How many seeds, counted from the base's, or a list of them; by default 10, more where many "
      "findings are judged together.");
    v("judge", judge,
      "Measures that findings are made of, the first one ranking; by default good_share (where there are "
      "SLOs), e2e.mean, ttft.p99 and itl.p99.");
    v("confidence", confidence, "Of the intervals, and of all findings together.", Range{0.8, 0.999});
    v("tolerance", tolerance, "Part of the baseline's value below which worse is no regression.",
      Range{0.0, 1.0});
  }
};

struct ComparisonDocument {
  ApiVersion api_version = ApiVersion::kV1;
  ComparisonKind kind = ComparisonKind::kComparison;
  MetadataSpec metadata;
  ComparisonSpec spec;

  template <class Visitor>
  void fields(Visitor& v) {
    v("apiVersion", api_version, "Version of the file format.", kRequired,
      Choices<ApiVersion>{{"servetwin/v1", ApiVersion::kV1}});
    v("kind", kind, "What the file describes.", kRequired,
      Choices<ComparisonKind>{{kComparisonKind, ComparisonKind::kComparison}});
    v("metadata", metadata, "Names the comparison.");
    v("spec", spec, "The comparison itself.");
  }
};

}  // namespace servetwin
