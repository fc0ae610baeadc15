// Reads what servers differ in: line ends, comments, usage in each event or in the last one, several tokens
// in one event, errors in the stream.
#include "calibrate/endpoint/event_stream.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace servetwin {
namespace {

using Json = nlohmann::json;

// Puts lines together to events, whatever the pieces in which they come.
class EventReader {
 public:
  explicit EventReader(std::vector<StreamEvent>& events) : events_(events) {}

  void take(const BodyPart& part) {
    for (const char c : part.bytes) {
      const bool ends = c == '\r' || (c == '\n' && before_ != '\r');
      before_ = c;
      if (ends) {
        end_line(part.at);
      } else if (c != '\n') {
        line_ += c;
      }
    }
  }

 private:
  void end_line(Duration at) {
    if (line_.empty()) {
      if (has_data_) events_.push_back({at, data_});
      data_.clear();
      has_data_ = false;
    } else if (line_.compare(0, 5, "data:") == 0) {
      if (has_data_) data_ += '\n';
      data_ += line_.substr(line_.size() > 5 && line_[5] == ' ' ? 6 : 5);
      has_data_ = true;
    }
    line_.clear();
  }

  std::vector<StreamEvent>& events_;
  std::string line_;
  std::string data_;
  bool has_data_ = false;
  char before_ = 0;
};

bool has_text(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return false;
  return found->is_string() ? !found->get_ref<const std::string&>().empty() : !found->empty();
}

std::int64_t whole_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

// What the events say, one after the other.
class AnswerReader {
 public:
  explicit AnswerReader(TimedAnswer& answer) : answer_(answer) {}

  void take(const StreamEvent& event) {
    if (event.data == "[DONE]") return;
    const Json json = Json::parse(event.data, nullptr, false);
    if (!json.is_object()) {
      answer_.problem = "sent an event that is no JSON object: " + printable(event.data.substr(0, 100));
      return;
    }
    if (json.contains("error") && !json["error"].is_null()) {
      answer_.problem = "sent an error within the answer: " + json["error"].dump().substr(0, 200);
      return;
    }
    const std::int64_t before = answer_.tokens;
    const bool counts = take_usage(json);
    const bool generates = take_choices(json);
    if (!generates) {
      said_apart_ = said_apart_ || counts;
      return;
    }
    said_each_ = (answer_.marks.empty() || said_each_) && counts;
    const bool more = counts ? answer_.tokens > before : true;
    if (more) answer_.marks.push_back({event.at, static_cast<double>(answer_.tokens)});
  }

  void finish(std::int64_t asked) {
    if (!answer_.problem.empty()) return;
    if (answer_.marks.empty()) {
      answer_.problem = "holds no token";
      return;
    }
    if (answer_.tokens == 0 && answer_.finish_reason == "length") answer_.tokens = asked;
    const bool said = said_each_ || said_apart_;
    answer_.counted = said_each_ ? TokenCount::kEachEvent : said ? TokenCount::kAtEnd : TokenCount::kAsked;
    if (answer_.tokens == 0) answer_.tokens = static_cast<std::int64_t>(answer_.marks.size());
    if (!said_each_) spread_evenly();
  }

 private:
  // Whether it says how many tokens there are.
  bool take_usage(const Json& json) {
    const auto usage = json.find("usage");
    if (usage == json.end() || !usage->is_object()) return false;
    answer_.prompt_tokens = std::max(answer_.prompt_tokens, whole_of(*usage, "prompt_tokens"));
    answer_.tokens = std::max(answer_.tokens, whole_of(*usage, "completion_tokens"));
    const auto details = usage->find("prompt_tokens_details");
    if (details != usage->end() && details->is_object()) {
      answer_.cached_tokens = std::max(answer_.cached_tokens, whole_of(*details, "cached_tokens"));
    }
    return usage->contains("completion_tokens");
  }

  // Whether a choice of it holds text.
  bool take_choices(const Json& json) {
    const auto choices = json.find("choices");
    if (choices == json.end() || !choices->is_array() || choices->empty()) return false;
    const Json& choice = choices->front();
    if (!choice.is_object()) return false;
    if (has_text(choice, "finish_reason")) answer_.finish_reason = choice["finish_reason"].dump();
    if (answer_.finish_reason.size() > 2 && answer_.finish_reason.front() == '"') {
      answer_.finish_reason = answer_.finish_reason.substr(1, answer_.finish_reason.size() - 2);
    }
    const auto delta = choice.find("delta");
    if (delta == choice.end() || !delta->is_object()) return has_text(choice, "text");
    constexpr const char* kParts[] = {"content", "reasoning_content", "reasoning", "tool_calls"};
    return std::any_of(std::begin(kParts), std::end(kParts),
                       [&](const char* part) { return has_text(*delta, part); });
  }

  // The first event is one token where that can be; the others share the rest.
  void spread_evenly() {
    auto& marks = answer_.marks;
    const auto total = static_cast<double>(answer_.tokens);
    const auto others = static_cast<double>(marks.size() - 1);
    for (std::size_t i = 0; i < marks.size(); ++i) {
      marks[i].tokens = others > 0 ? 1 + (total - 1) * static_cast<double>(i) / others : total;
    }
  }

  TimedAnswer& answer_;
  bool said_each_ = false;   // every event with text had a count
  bool said_apart_ = false;  // an event without text had one
};

}  // namespace

std::vector<StreamEvent> stream_events(const std::vector<BodyPart>& parts) {
  std::vector<StreamEvent> events;
  EventReader reader(events);
  for (const BodyPart& part : parts) reader.take(part);
  return events;
}

double TimedAnswer::tokens_at(Duration at) const {
  const auto after = std::upper_bound(marks.begin(), marks.end(), at,
                                      [](Duration time, const TokenMark& mark) { return time < mark.at; });
  return after == marks.begin() ? 0 : std::prev(after)->tokens;
}

TimedAnswer timed_answer(const HttpAnswer& answer, std::int64_t asked) {
  TimedAnswer timed;
  timed.problem = answer.problem();
  timed.sent = answer.sent;
  timed.ended = answer.ended;
  if (!timed.problem.empty()) return timed;
  AnswerReader reader(timed);
  for (const StreamEvent& event : stream_events(answer.parts)) {
    reader.take(event);
    if (!timed.problem.empty()) return timed;
  }
  reader.finish(asked);
  return timed;
}

}  // namespace servetwin
