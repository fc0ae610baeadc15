// If these fail, a slip in a scenario file is dropped silently or reported without its place.
#include "scenarios/yaml_loader.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "scenarios/input_text.h"
#include "tests/support/catch.h"

namespace servetwin::yaml_loader_test {
namespace {

// The problems of a text, as "code line:column".
std::string places_of(const std::string& text) {
  try {
    load_yaml_text(text, "a.yaml");
  } catch (const ConfigError& error) {
    std::string result;
    for (const Problem& problem : error.problems()) {
      if (!result.empty()) result += ", ";
      result += problem.code + ' ' + std::to_string(problem.place.line) + ':' +
                std::to_string(problem.place.column);
      CHECK(problem.place.file == "a.yaml");
      CHECK_FALSE(problem.message.empty());
      CHECK_FALSE(problem.remedy.empty());
    }
    return result;
  }
  return "accepted";
}

std::string code_of_file(const std::string& path) {
  try {
    load_yaml_file(path);
  } catch (const ConfigError& error) {
    CHECK(error.problems().front().place.file == path);
    return error.problems().front().code;
  }
  return "accepted";
}

std::string alias_bomb() {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    text += 'a' + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) text += (j > 0 ? ", " : "") + below;
    text += "]\n";
  }
  return text;
}

// A folder that is gone when the test is over.
class ScratchFolder {
 public:
  ScratchFolder()
      : path_(std::filesystem::temp_directory_path() / ("servetwin_yaml_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

TEST_CASE("a duplicate key is refused with both positions") {
  try {
    load_yaml_text("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n", "a.yaml");
    FAIL("accepted");
  } catch (const ConfigError& error) {
    REQUIRE(error.problems().size() == 1);
    CHECK(std::string(error.what()) ==
          "a.yaml:5:3: b.c: duplicate key, first given at line 3, column 3 (keep one of the two) [CFG008]");
  }
}

TEST_CASE("all problems of a file come together") {
  CHECK(places_of("a: 1\na: 2\nb: !thing 3\na: 4\n") == "CFG008 2:1, CFG012 3:4, CFG008 4:1");
}

TEST_CASE("equal keys of different maps are no duplicates") {
  CHECK(places_of("a: {x: 1}\nb: {x: 1}\n") == "accepted");
}

TEST_CASE("aliases, anchors, alias bombs and cycles are refused") {
  CHECK(places_of("a: &x 1\nb: *x\n") == "CFG010 1:4, CFG010 2:4");
  CHECK(places_of("a: &x [*x]\n") == "CFG010 1:4, CFG010 1:8");
  CHECK(places_of("a: *missing\n") == "CFG010 1:4");
  CHECK(places_of(alias_bomb()).substr(0, 11) == "CFG010 1:5,");
}

TEST_CASE("a merge key is explained and extends is offered") {
  CHECK(places_of("a:\n  <<: {b: 1}\n") == "CFG011 2:3");
  try {
    load_yaml_text("<<: {b: 1}\n", "a.yaml");
    FAIL("accepted");
  } catch (const ConfigError& error) {
    CHECK(error.problems().front().remedy.find("extends:") != std::string::npos);
  }
}

TEST_CASE("tags are refused, also known ones") {
  CHECK(places_of("a: !!python/object:os.system {b: 1}\n") == "CFG012 1:4");
  CHECK(places_of("a: !!str 5\n") == "CFG012 1:4");
  CHECK(places_of("a: ! 5\n") == "CFG012 1:4");
}

TEST_CASE("64 levels are accepted and 65 are not, in both styles") {
  const auto flow = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']') + '\n';
  };
  CHECK(places_of(flow(64)) == "accepted");
  CHECK(places_of(flow(65)).substr(0, 6) == "CFG013");
  CHECK(places_of(flow(20'000)).substr(0, 6) == "CFG013");
  CHECK(places_of(std::string(50'000, '[')).find("CFG013") != std::string::npos);
  std::string block;
  for (std::size_t i = 0; i < 70; ++i) block += std::string(i, ' ') + "a:\n";
  CHECK(places_of(block).substr(0, 6) == "CFG013");
}

TEST_CASE("more than 200,000 values are refused") {
  std::string text;
  for (int i = 0; i <= kMaxYamlNodes; ++i) text += "- 1\n";
  CHECK(places_of(text).substr(0, 6) == "CFG014");
}

TEST_CASE("text that is no UTF-8 or holds control characters is refused where it stands") {
  CHECK(places_of("a: 1\nb: \xC3\x28\n") == "CFG006 2:4");
  CHECK(places_of("a: \xC0\x80\n") == "CFG006 1:4");
  CHECK(places_of("a: \xED\xA0\x80\n") == "CFG006 1:4");
  CHECK(places_of("a: \xF4\x90\x80\x80\n") == "CFG006 1:4");
  CHECK(places_of("a: \xE2\x82\n") == "CFG006 1:4");
  CHECK(places_of(std::string("a: \0b\n", 6)) == "CFG006 1:4");
  CHECK(places_of("\xFF\xFE"
                  "a") == "CFG006 1:1");
  CHECK(places_of("a: \xE2\x82\xAC \xF0\x9F\x98\x80 \xC3\xA9\n") == "accepted");
}

TEST_CASE("a byte order mark and CRLF line ends change nothing") {
  const ConfigNode node = load_yaml_text(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: x\r\n",
      "a.yaml");
  REQUIRE(node.find("b") != nullptr);
  CHECK(node.find("a")->text == "1");
  CHECK(node.find("b")->text == "x");
  CHECK(node.find("b")->place.line == 2);
}

TEST_CASE("a second document is refused") {
  CHECK(places_of("a: 1\n---\nb: 2\n").substr(0, 6) == "CFG009");
  CHECK(places_of("---\na: 1\n...\n") == "accepted");
}

TEST_CASE("broken syntax gives the place") {
  CHECK(places_of("a: [1, 2\nb: 3\n").substr(0, 7) == "CFG007 ");
  CHECK(places_of("a:\n  b: 1\n c: 2\n") == "CFG007 3:2");
  CHECK(places_of("a: \"open\n") == "CFG007 1:4");
  CHECK(places_of("a: 'it''s open\n") == "CFG007 1:4");
  CHECK(places_of("a: \"a \\\" b\"\nb: 'it''s'\n") == "accepted");
}

TEST_CASE("a key that is no plain text is refused") {
  CHECK(places_of("[a, b]: 1\n") == "CFG015 1:1");
  CHECK(places_of("? {a: 1}\n: 2\n") == "CFG015 1:3");
  CHECK(places_of("~: 1\n") == "CFG015 1:1");
}

TEST_CASE("what holds no value is called empty") {
  CHECK(places_of("").substr(0, 6) == "CFG005");
  CHECK(places_of(" \n\n").substr(0, 6) == "CFG005");
  CHECK(places_of("# only a comment\n").substr(0, 6) == "CFG005");
}

TEST_CASE("scalars keep their text, quotes, place and path") {
  const ConfigNode node = load_yaml_text("a:\n  - x: 010\n  - \"yes\"\nb: ~\nc:\nd: .nan\n", "a.yaml");
  const ConfigNode& list = *node.find("a");
  const ConfigNode& octal = *list.items[0].find("x");
  CHECK(octal.text == "010");
  CHECK_FALSE(octal.quoted);
  CHECK(octal.path == "a[0].x");
  CHECK(octal.place.line == 2);
  CHECK(octal.place.column == 8);
  CHECK(list.items[1].quoted);
  CHECK(node.find("b")->is_null());
  CHECK(node.find("c")->is_null());
  CHECK(node.find("c")->place.line == 5);
  CHECK(node.find("d")->text == ".nan");
}

TEST_CASE("only small, readable, regular files are read") {
  const ScratchFolder folder;
  CHECK(code_of_file(folder.file("missing.yaml")) == "CFG001");
  CHECK(code_of_file(folder.file("")) == "CFG002");
  REQUIRE(::mkfifo(folder.file("fifo").c_str(), 0600) == 0);
  CHECK(code_of_file(folder.file("fifo")) == "CFG002");
  CHECK(code_of_file("/dev/zero") == "CFG002");
  std::ofstream(folder.file("empty.yaml")).close();
  CHECK(code_of_file(folder.file("empty.yaml")) == "CFG005");
  std::ofstream(folder.file("good.yaml")) << "a: 1\n";
  CHECK(code_of_file(folder.file("good.yaml")) == "accepted");
  CHECK(code_of_file(folder.file("good.yaml/below")) == "CFG003");
  if (::geteuid() != 0) {
    REQUIRE(::chmod(folder.file("good.yaml").c_str(), 0) == 0);
    CHECK(code_of_file(folder.file("good.yaml")) == "CFG003");
  }
}

TEST_CASE("a file of a gigabyte is refused without being read") {
  const ScratchFolder folder;
  const std::string path = folder.file("huge.yaml");
  std::ofstream(path).close();
  std::filesystem::resize_file(path, std::uintmax_t{1} << 30U);
  CHECK(code_of_file(path) == "CFG004");
}

TEST_CASE("a written tree reads back as the same tree") {
  const std::string text =
      "a: {b: [1, \"2\", \"true\", null], c: \"x: y\", d: {}, e: []}\nf: \"null\"\ng: 1e6\n";
  const ConfigNode first = load_yaml_text(text, "a.yaml");
  const std::string written = write_yaml(first, "two\nlines");
  CHECK(written.substr(0, 14) == "# two\n# lines\n");
  const ConfigNode second = load_yaml_text(written, "a.yaml");
  CHECK(write_yaml(second) == write_yaml(first));
  CHECK(second.find("a")->find("b")->items[2].quoted);
  CHECK(second.find("a")->find("b")->items[3].is_null());
  CHECK(second.find("f")->text == "null");
  CHECK(second.find("f")->quoted);
  CHECK(second.find("a")->find("d")->is_map());
}

}  // namespace
}  // namespace servetwin::yaml_loader_test
