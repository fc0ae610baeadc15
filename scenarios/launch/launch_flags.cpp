// Reading words against a table of flags.
#include "scenarios/launch/launch_flags.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>

#include "engine/base/dtype.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/base/unit_text.h"

namespace servetwin {
namespace {

constexpr std::int64_t kMostCounted = std::int64_t{1} << 40;

// -tp and --seed, but not a negative number or a lone dash.
bool is_flag(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && !(word[1] >= '0' && word[1] <= '9') && word[1] != '.';
}

std::string with_dashes(std::string name) {
  if (name.rfind("--", 0) == 0) std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

const LaunchFlag* find_flag(const std::vector<LaunchFlag>& table, const std::string& name) {
  for (const LaunchFlag& flag : table) {
    std::istringstream names(flag.names);
    for (std::string one; names >> one;) {
      if (one == name) return &flag;
    }
  }
  return nullptr;
}

class Reader {
 public:
  Reader(const std::vector<LaunchFlag>& table, const std::vector<std::string>& words)
      : table_(table), words_(words) {}

  ReadFlags read() {
    while (at_ < words_.size()) {
      const std::string word = words_[at_++];
      if (is_flag(word)) {
        read_flag(word);
      } else {
        out_.positional.push_back(word);
      }
    }
    return std::move(out_);
  }

 private:
  void read_flag(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = with_dashes(word.substr(0, equals));
    const LaunchFlag* flag = find_flag(table_, name);
    std::vector<std::string> values;
    if (equals != std::string::npos) values.push_back(word.substr(equals + 1));
    const bool takes = flag == nullptr || flag->value != FlagValue::kNone;
    const bool several = flag != nullptr && flag->value == FlagValue::kMany;
    while (takes && (values.empty() || several) && at_ < words_.size() && !is_flag(words_[at_]))
      values.push_back(words_[at_++]);
    const std::string given = name + (values.empty() ? "" : " " + join(values, " "));
    if (flag == nullptr) {
      out_.reading.unknown.push_back(given);
    } else if (!takes && !values.empty()) {
      reject_launch(name + " takes no value",
                    "leave =" + values.front() + " away, or use the flag's opposite");
    } else if (takes && values.empty()) {
      reject_launch(name + " has no value", "write it as " + name + " VALUE");
    } else {
      apply(*flag, name, values, given);
    }
  }

  void apply(const LaunchFlag& flag,
             const std::string& name,
             const std::vector<std::string>& values,
             const std::string& given) {
    const std::string effect = flag.effect;
    if (effect.empty()) {
      out_.reading.no_effect.push_back(given);
      return;
    }
    if (effect.find(' ') != std::string::npos) {
      out_.reading.not_modelled.push_back(given + ": " + effect);
      return;
    }
    std::vector<std::string> converted;
    for (const std::string& value : values.empty() ? std::vector<std::string>{""} : values) {
      try {
        if (const auto yaml = flag.convert(value)) converted.push_back(*yaml);
      } catch (const ConfigError& error) {
        const Problem& problem = error.problems().front();
        reject_launch(name + " " + value + ": " + problem.message, problem.remedy);
      }
    }
    take(out_.reading, effect);
    if (!converted.empty()) out_.reading.settings.push_back({effect, join(converted, ", "), given});
  }

  const std::vector<LaunchFlag>& table_;
  const std::vector<std::string>& words_;
  std::size_t at_ = 0;
  ReadFlags out_;
};

}  // namespace

ReadFlags read_flags(const std::vector<LaunchFlag>& table, const std::vector<std::string>& words) {
  return Reader(table, words).read();
}

void set(LaunchReading& reading, const LaunchSetting& setting, bool keep) {
  if (keep && find(reading, setting.path) != nullptr) return;
  take(reading, setting.path);
  reading.settings.push_back(setting);
}

const LaunchSetting* find(const LaunchReading& reading, const std::string& path) {
  for (const LaunchSetting& setting : reading.settings) {
    if (setting.path == path) return &setting;
  }
  return nullptr;
}

std::optional<LaunchSetting> take(LaunchReading& reading, const std::string& path) {
  const LaunchSetting* found = find(reading, path);
  if (found == nullptr) return std::nullopt;
  const LaunchSetting setting = *found;
  reading.settings.erase(reading.settings.begin() + (found - reading.settings.data()));
  return setting;
}

std::optional<std::string> count_value(const std::string& value) {
  if (value == "-1" || value == "auto") return std::nullopt;
  constexpr const char* kUnits = "kmgKMG";
  const std::size_t unit = value.empty() ? std::string::npos : std::string(kUnits).find(value.back());
  if (unit == std::string::npos) {
    const Parsed<std::int64_t> whole = parse_integer(value);
    if (!whole || *whole.value < 0 || *whole.value > kMostCounted)
      reject_launch("is no count", "write a whole number, such as 4096 or 32K");
    return format_number(*whole.value);
  }
  const Parsed<double> number = parse_decimal(value.substr(0, value.size() - 1));
  double scaled = number ? *number.value : -1.0;
  for (std::size_t power = 0; power <= unit % 3; ++power) scaled *= unit < 3 ? 1000.0 : 1024.0;
  if (scaled < 0.0 || scaled > static_cast<double>(kMostCounted) || scaled != std::floor(scaled))
    reject_launch("is no count", "write a whole number, such as 4096 or 32K");
  return format_number(static_cast<std::int64_t>(scaled));
}

std::optional<std::string> share_value(const std::string& value) {
  const Parsed<double> share = parse_decimal(value);
  if (!share || *share.value <= 0.0 || *share.value > 1.0)
    reject_launch("is no share", "write a number above 0, at most 1");
  return format_number(*share.value);
}

std::optional<std::string> dtype_value(const std::string& value) {
  if (value == "auto") return std::nullopt;
  const std::optional<DType> type = dtype_from_name(value);
  if (!type) reject_launch("is no known number format", "for example bfloat16, float16, fp8");
  return name_of(*type);
}

std::optional<std::string> text_value(const std::string& value) {
  const bool is_plain = std::all_of(value.begin(), value.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-' || c == '/';
  });
  if (is_plain && !value.empty()) return value;
  std::string quoted = "\"";
  for (const char c : value) {
    if (static_cast<unsigned char>(c) < ' ') reject_launch("holds a control character", "leave it out");
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::optional<std::string> yes_value(const std::string& /*value*/) { return "true"; }
std::optional<std::string> no_value(const std::string& /*value*/) { return "false"; }

}  // namespace servetwin
