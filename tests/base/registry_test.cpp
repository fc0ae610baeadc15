// If this fails, a plug-in cannot be found by its name or is not made with the parameters that were written.
#include "engine/base/registry.h"

#include "tests/support/catch.h"
#include "tests/support/check_throws.h"

namespace servetwin::registry_test {
namespace {

using namespace std::chrono_literals;

class Shape {
 public:
  virtual ~Shape() = default;
  virtual int corners() const = 0;
};

class Polygon final : public Shape {
 public:
  struct Params {
    int corners = 3;

    template <class Visitor>
    void fields(Visitor& v) {
      v("corners", corners, "How many.", Range{3, 100});
    }
  };

  explicit Polygon(const Params& params) : params_(params) {}
  int corners() const override { return params_.corners; }

 private:
  Params params_;
};

class Circle final : public Shape {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor&) {}
  };

  explicit Circle(const Params&) {}
  int corners() const override { return 0; }
};

const Registered<Shape, Polygon> kPolygon{"polygon", "Straight sides."};
const Registered<Shape, Circle> kCircle{"circle", "No side."};

// An interface whose plug-ins need more than parameters; one of them does not want it.
class Reader {
 public:
  struct MakeContext {
    const int& source;
  };

  virtual ~Reader() = default;
  virtual int read() const = 0;
};

class SourceReader final : public Reader {
 public:
  using Params = Circle::Params;
  SourceReader(const Params&, const MakeContext& context) : source_(context.source) {}
  int read() const override { return source_; }

 private:
  const int& source_;
};

class ZeroReader final : public Reader {
 public:
  using Params = Circle::Params;
  explicit ZeroReader(const Params&) {}
  int read() const override { return 0; }
};

const Registered<Reader, SourceReader> kSource{"source", "Reads the source."};
const Registered<Reader, ZeroReader> kZero{"zero", "Reads nothing."};

ConfigNode corners_node(const std::string& text) {
  ConfigNode value;
  value.kind = ConfigNode::Kind::kScalar;
  value.text = text;
  ConfigNode node;
  node.kind = ConfigNode::Kind::kMap;
  node.entries.emplace_back("corners", value);
  return node;
}

TEST_CASE("plug-ins are listed by name in order, with help and fields") {
  const auto& registry = Registry<Shape>::instance();
  CHECK(registry.names() == std::vector<std::string>{"circle", "polygon"});
  const auto* entry = registry.find("polygon");
  REQUIRE(entry != nullptr);
  CHECK(entry->help == "Straight sides.");
  REQUIRE(entry->fields().size() == 1);
  CHECK(entry->fields()[0].name == "corners");
  CHECK(registry.find("square") == nullptr);
}

TEST_CASE("a plug-in is made with its defaults or with the parameters written") {
  const auto& registry = Registry<Shape>::instance();
  CHECK(registry.make("polygon", ConfigNode{})->corners() == 3);
  CHECK(registry.make("polygon", corners_node("7"))->corners() == 7);
  CHECK(registry.make("circle", ConfigNode{})->corners() == 0);
  CHECK_THROWS_AS(registry.make("polygon", corners_node("2")), ConfigError);
}

TEST_CASE("a plug-in that wants its context gets it") {
  const int source = 42;
  const auto& registry = Registry<Reader>::instance();
  CHECK(registry.make("source", ConfigNode{}, {source})->read() == 42);
  CHECK(registry.make("zero", ConfigNode{}, {source})->read() == 0);
}

TEST_CASE("an unknown name is refused with the nearest name and all names") {
  try {
    Registry<Shape>::instance().make("polygn", ConfigNode{});
    FAIL("no error for an unknown name");
  } catch (const ConfigError& error) {
    CHECK(std::string(error.what()) ==
          "unknown name \"polygn\" (did you mean polygon? valid: circle, polygon) [CFG107]");
  }
}

TEST_CASE("two plug-ins of one name are a broken invariant") {
  make_checks_throw();
  CHECK_THROWS_AS((Registered<Shape, Circle>{"circle", "Again."}), BrokenInvariant);
}

}  // namespace
}  // namespace servetwin::registry_test
