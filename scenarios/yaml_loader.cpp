// Builds the tree from yaml-cpp's events; its Node map would keep the first of two equal keys without a word.
#include "scenarios/yaml_loader.h"

#include <map>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "scenarios/input_text.h"

namespace servetwin {
namespace {

// A map or list that is still open.
struct Frame {
  ConfigNode node;
  std::optional<std::string> key;  // of the entry being read
  SourcePlace key_place;
  std::map<std::string, SourcePlace> seen;
  bool skip = false;  // stands where a key is due, or under a refused key: read, checked and dropped
};

class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(std::string file, const std::string& text) : file_(std::move(file)), text_(text) {}

  // The finished tree, or everything that was wrong.
  ConfigNode finish() {
    if (documents_ == 0) {
      add("CFG005", SourcePlace{file_, 0, 0}, "", "holds nothing but comments",
          "`servetwin init` writes a scenario to start from");
    }
    if (!problems_.empty()) throw ConfigError(std::move(problems_));
    return std::move(root_);
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ == 0) return;
    add("CFG009", place_of(mark), "", "a second document begins", "put each scenario into a file of its own");
    throw ConfigError(std::move(problems_));
  }

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check_anchor(mark, anchor);
    leaf(ConfigNode{}, mark);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse_alias(place_of(mark));
    leaf(ConfigNode{}, mark);
  }

  void OnScalar(const YAML::Mark& mark,
                const std::string& tag,
                YAML::anchor_t anchor,
                const std::string& value) override {
    check_anchor(mark, anchor);
    check_tag(mark, tag);
    if (tag == "!") check_quotes(mark);
    ConfigNode node;
    node.kind = ConfigNode::Kind::kScalar;
    node.text = value;
    node.quoted = tag == "!";
    leaf(std::move(node), mark);
  }

  void OnSequenceStart(const YAML::Mark& mark,
                       const std::string& tag,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(ConfigNode::Kind::kList, mark, tag, anchor);
  }

  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark,
                  const std::string& tag,
                  YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(ConfigNode::Kind::kMap, mark, tag, anchor);
  }

  void OnMapEnd() override { close(); }

 private:
  SourcePlace place_of(const YAML::Mark& mark) const { return {file_, mark.line + 1, mark.column + 1}; }

  void add(const char* code, SourcePlace place, std::string path, std::string message, std::string remedy) {
    problems_.push_back({code, std::move(place), std::move(path), std::move(message), std::move(remedy)});
  }

  void refuse_alias(SourcePlace place) {
    add("CFG010", std::move(place), next_path(), "anchors (&name) and aliases (*name) are not allowed",
        "write the value out, or share a file with `extends:`");
  }

  void check_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) refuse_alias(place_of(mark));
  }

  // yaml-cpp gives "?" or nothing for no tag and "!" for a quoted scalar.
  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    add("CFG012", place_of(mark), next_path(), "the tag " + tag + " is not allowed",
        "remove it; a text that looks like a number goes in quotes");
  }

  // yaml-cpp takes the end of the file for the closing quote, and the tag "!" for quotes.
  void check_quotes(const YAML::Mark& mark) {
    const auto start = static_cast<std::size_t>(mark.pos);
    const char quote = start < text_.size() ? text_[start] : ' ';
    if (quote == '!') check_tag(mark, "! (non-specific)");
    if (quote != '"' && quote != '\'') return;
    for (std::size_t i = start + 1; i < text_.size(); ++i) {
      const bool is_doubled =
          quote == '\'' && text_[i] == quote && i + 1 < text_.size() && text_[i + 1] == quote;
      const bool is_escape = quote == '"' && text_[i] == '\\';
      if (is_doubled || is_escape) {
        ++i;
      } else if (text_[i] == quote) {
        return;
      }
    }
    add("CFG007", place_of(mark), next_path(), "not YAML: a quote is never closed", "close it");
  }

  void count_node(const YAML::Mark& mark) {
    if (++nodes_ <= kMaxYamlNodes) return;
    add("CFG014", place_of(mark), "", "more than 200,000 values", "data belong into a trace file");
    throw ConfigError(std::move(problems_));
  }

  bool key_due() const { return !frames_.empty() && frames_.back().node.is_map() && !frames_.back().key; }

  std::string next_path() const {
    if (frames_.empty()) return "";
    const Frame& top = frames_.back();
    if (top.node.is_list()) return top.node.path + '[' + std::to_string(top.node.items.size()) + ']';
    if (!top.key) return top.node.path;
    return top.node.path.empty() ? *top.key : top.node.path + '.' + *top.key;
  }

  void take_key(const std::string& name, const SourcePlace& place) {
    Frame& top = frames_.back();
    if (name == "<<") {
      add("CFG011", place, top.node.path, "merge keys (<<) are not merged",
          "name the other file with `extends:` at the top of this one");
    } else if (const auto [first, is_new] = top.seen.emplace(name, place); !is_new) {
      top.key = name;
      add("CFG008", place, next_path(),
          "duplicate key, first given at line " + std::to_string(first->second.line) + ", column " +
              std::to_string(first->second.column),
          "keep one of the two");
    }
    top.key = name;
    top.key_place = place;
  }

  void refuse_key(const SourcePlace& place) {
    add("CFG015", place, frames_.back().node.path, "a key must be plain text", "write `name: value`");
    frames_.back().key = "";
    frames_.back().key_place = place;
  }

  void leaf(ConfigNode node, const YAML::Mark& mark) {
    count_node(mark);
    node.place = place_of(mark);
    if (key_due()) {
      if (node.is_scalar()) {
        take_key(node.text, node.place);
      } else {
        refuse_key(node.place);
      }
      return;
    }
    // A missing value has no place of its own, so it gets its key's.
    if (node.is_null() && !frames_.empty() && frames_.back().node.is_map())
      node.place = frames_.back().key_place;
    attach(std::move(node));
  }

  void open(ConfigNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    count_node(mark);
    check_anchor(mark, anchor);
    check_tag(mark, tag);
    if (frames_.size() >= static_cast<std::size_t>(kMaxYamlDepth)) {
      add("CFG013", place_of(mark), "", "nested deeper than 64 levels", "flatten it");
      throw ConfigError(std::move(problems_));
    }
    Frame frame;
    frame.skip = key_due();
    if (frame.skip) refuse_key(place_of(mark));
    frame.node.kind = kind;
    frame.node.place = place_of(mark);
    frame.node.path = next_path();
    frames_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    if (!frame.skip) attach(std::move(frame.node));
  }

  void attach(ConfigNode node) {
    node.path = next_path();
    node.origin = "file";
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& top = frames_.back();
    if (top.node.is_list()) {
      top.node.items.push_back(std::move(node));
    } else {
      top.node.entries.emplace_back(*top.key, std::move(node));
      top.key.reset();
    }
  }

  std::string file_;
  const std::string& text_;
  ConfigNode root_;
  std::vector<Frame> frames_;
  std::vector<Problem> problems_;
  int documents_ = 0;
  int nodes_ = 0;
};

// yaml-cpp's own words are kept where they help; its guard against deep nesting says only "bad file".
Problem syntax_problem(const YAML::Exception& error, const std::string& file) {
  SourcePlace place{file, 0, 0};
  if (!error.mark.is_null()) place = {file, error.mark.line + 1, error.mark.column + 1};
  if (error.msg == YAML::ErrorMsg::BAD_FILE) {
    return {"CFG013", place, "", "nested deeper than 64 levels", "flatten it"};
  }
  if (error.msg.find(YAML::ErrorMsg::UNKNOWN_ANCHOR) != std::string::npos) {
    return {"CFG010", place, "", "an alias (*name) without its anchor; neither is allowed",
            "write the value out"};
  }
  return {"CFG007", place, "", "not YAML: " + error.msg,
          "check indentation, the space after a colon, and quotes"};
}

}  // namespace

ConfigNode load_yaml_text(const std::string& text, const std::string& file) {
  const std::string clean = clean_text(text, file);
  TreeBuilder builder(file, clean);
  std::istringstream stream(clean);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    throw ConfigError(syntax_problem(error, file));
  }
  return builder.finish();
}

ConfigNode load_yaml_file(const std::string& path) {
  return load_yaml_text(read_input(path), path == "-" ? "standard input" : path);
}

}  // namespace servetwin
