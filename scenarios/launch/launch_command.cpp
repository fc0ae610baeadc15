// Splitting a command, finding whose it is, and writing what was read as a scenario.
#include "scenarios/launch/launch_command.h"

#include <algorithm>
#include <cctype>

#include "engine/base/error.h"
#include "engine/base/registry.h"
#include "scenarios/devices.h"

namespace servetwin {
namespace {

constexpr const char* kTraffic =
    R"(  # A launch command says nothing of traffic, targets and costs: these stand in for yours.
  workload:
    arrivals: {process: poisson, rate: 4/s}       # `servetwin list arrivals`
    lengths: {table: azure-2023-conversation}
    duration: 5min
  router: least_outstanding
  slo: {ttft: 500ms, itl: 50ms}
  cost: {model: analytic}
  seed: 1
)";

bool sets_variable(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

// Reads one word, or nothing at the end of the command.
class Splitter {
 public:
  explicit Splitter(const std::string& text) : text_(text) {}

  std::optional<std::string> next() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    if (at_ == text_.size() || ends_command(text_[at_])) return std::nullopt;
    std::string word;
    while (at_ < text_.size() && !is_space(text_[at_]) && !ends_command(text_[at_])) add_to(word);
    return word;
  }

 private:
  // A continued line is space, unlike in a shell, which would join the words around it.
  bool is_space(char c) const {
    const bool continues = c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n';
    return continues || c == ' ' || c == '\t' || c == '\n' || c == '\r';
  }
  static bool ends_command(char c) { return std::string(";&|<>").find(c) != std::string::npos; }

  void add_to(std::string& word) {
    const char c = text_[at_++];
    if (c == '\'' || c == '"') {
      add_quoted(word, c);
    } else if (c == '\\' && at_ < text_.size()) {
      word += text_[at_++];
    } else {
      word += c;
    }
  }

  void add_quoted(std::string& word, char quote) {
    while (at_ < text_.size() && text_[at_] != quote) {
      const bool escaped = quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size() &&
                           std::string("\"\\$`").find(text_[at_ + 1]) != std::string::npos;
      if (escaped) ++at_;
      word += text_[at_++];
    }
    if (at_ == text_.size()) reject_launch(std::string("a quote ") + quote + " is not closed", "close it");
    ++at_;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

// Keys of a map in the order of a scenario; those of maps within it last.
std::pair<std::size_t, std::size_t> rank(const LaunchSetting& setting) {
  const std::vector<std::string> order = {"model", "device", "replicas", "layout", "engine"};
  const std::string first = setting.path.substr(0, setting.path.find('.'));
  const auto depth = std::count(setting.path.begin(), setting.path.end(), '.');
  return {static_cast<std::size_t>(std::find(order.begin(), order.end(), first) - order.begin()),
          static_cast<std::size_t>(depth)};
}

std::string list(const std::string& title, const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += "#   " + word + '\n';
  return words.empty() ? "" : "# " + title + '\n' + text;
}

DeviceSpec device_of(const std::string& name) {
  try {
    return find_device(name);
  } catch (const ConfigError& error) {
    Problem problem = error.problems().front();
    if (problem.place.file.empty()) problem.place.file = "--device";
    throw ConfigError(problem);
  }
}

// A comment must stay on its line.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

}  // namespace

void reject_launch(const std::string& message, const std::string& remedy) {
  throw ConfigError(Problem{"CFG601", SourcePlace{"--from", 0, 0}, "", message, remedy});
}

std::vector<std::string> split_command(const std::string& command) {
  Splitter splitter(command);
  std::vector<std::string> words;
  while (const auto word = splitter.next()) {
    if (!words.empty() || !sets_variable(*word)) words.push_back(*word);
  }
  return words;
}

LaunchReading read_launch_command(const std::string& command, const std::string& device) {
  if (device.empty()) {
    reject_launch("a launch command does not say what it runs on",
                  "add --device NAME; `servetwin list devices` shows the names");
  }
  const std::vector<std::string> words = split_command(command);
  const auto& mappings = Registry<LaunchMapping>::instance();
  std::string known;
  for (const std::string& name : mappings.names()) {
    const std::unique_ptr<LaunchMapping> mapping = mappings.make(name, ConfigNode{});
    if (mapping->is_mine(words)) {
      LaunchReading reading = mapping->read({words, device, device_of(device)});
      reading.settings.push_back({"device", device, "--device"});
      return reading;
    }
    known += (known.empty() ? "" : ", ") + name;
  }
  const std::string said = words.empty() ? "no command" : "'" + words.front() + "' starts no engine";
  reject_launch(said + " whose flags are known", "known: " + known);
}

std::string scenario_text(const LaunchReading& reading, const std::string& name) {
  std::string text = "# Read from a launch command: " + reading.mapping + ".\n";
  text += list("Not modelled, so results may differ by it:", reading.not_modelled);
  text += list("Unknown, and left out:", reading.unknown);
  text = "# Try: servetwin simulate " + name + ".yaml\n" + text;
  text += "apiVersion: servetwin/v1\nkind: Scenario\nmetadata:\n  name: " + name + "\nspec:\n";
  std::vector<LaunchSetting> settings = reading.settings;
  std::stable_sort(settings.begin(), settings.end(),
                   [](const LaunchSetting& a, const LaunchSetting& b) { return rank(a) < rank(b); });
  std::string inside;
  for (const LaunchSetting& setting : settings) {
    std::size_t begin = 0;
    std::string indent = "  ";
    for (std::size_t dot; (dot = setting.path.find('.', begin)) != std::string::npos; begin = dot + 1) {
      const std::string map = setting.path.substr(0, dot + 1);
      if (inside.compare(0, map.size(), map) != 0)
        text += indent + setting.path.substr(begin, dot - begin) + ":\n";
      indent += "  ";
    }
    inside = setting.path;
    text += indent + setting.path.substr(begin) + ": " + setting.value;
    text += "  # " + one_line(setting.origin) + '\n';
  }
  return text + kTraffic;
}

}  // namespace servetwin
