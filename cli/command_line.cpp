// Finds the verb, lets it run, and turns whatever goes wrong into a message and an exit code.
#include "cli/command_line.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <new>

#include "cli/plugin_file.h"
#include "cli/screen.h"
#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "generated/servetwin_build.h"

namespace servetwin {
namespace {

constexpr std::size_t kProblemsShown = 20;

// As a shell reads it.
std::string quoted(const std::string& word) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string& replay_command() {
  static std::string command;
  return command;
}

[[noreturn]] void on_broken_invariant(const std::string& message) {
  leave_screen();
  if (!plugin_being_loaded().empty()) {
    const std::string text = "error: " + plugin_being_loaded() +
                             ": registers what is refused, perhaps a name that is taken [PLG003]\n" + message;
    std::fputs(text.c_str(), stderr);
    std::_Exit(static_cast<int>(ExitCode::kBadInput));
  }
  const std::string text = message +
                           "This is an error of servetwin itself. The same happens again with:\n  " +
                           replay_command() + '\n';
  std::fputs(text.c_str(), stderr);
  std::_Exit(static_cast<int>(ExitCode::kBroken));
}

std::string version_text() {
  return fmt::format("servetwin {}\ncommit {}\ncompiler {}\nbuild {}, flags {}\n", kVersion, kGitCommit,
                     kCompiler, kBuildType, kBuildFlags);
}

std::string overview() {
  std::string text =
      "servetwin: a twin of an LLM serving system, simulated step by step.\n\n"
      "Usage: servetwin VERB ...\n\nVerbs:\n";
  const auto& verbs = Registry<Verb>::instance();
  for (const std::string& name : verbs.names())
    text += fmt::format("  {:<10} {}\n", name, verbs.find(name)->help);
  text +=
      "\nOptions:\n  -h,--help  Prints this text; after a verb, what the verb takes.\n"
      "  --version  Prints version and build.\n"
      "  --plugin FILE  Loads rules, routers, cost models or verbs from FILE; anywhere, and several times.\n"
      "\nTo begin with: servetwin simulate quickstart\n";
  return text;
}

ExitCode run_verb(const std::string& name, const std::vector<std::string>& rest, Terminal& terminal) {
  const auto& verbs = Registry<Verb>::instance();
  const auto* entry = verbs.find(name);
  if (entry == nullptr) {
    std::vector<std::string> known = verbs.names();
    known.insert(known.end(), {"--help", "--version", "--plugin"});
    throw UsageError("servetwin: unknown " + std::string(name[0] == '-' ? "option " : "verb ") + name +
                     suggestion(name, known) + "\n`servetwin --help` shows the verbs");
  }
  const std::unique_ptr<Verb> verb = verbs.make(name, ConfigNode{});
  Arguments arguments(name, entry->help);
  verb->declare(arguments);
  if (arguments.parse(rest)) return verb->run(terminal);
  terminal.out(arguments.help());
  return ExitCode::kOk;
}

// Loads the plug-ins, which may be what the other words name, and returns those words.
std::vector<std::string> load_plugins(const std::vector<std::string>& words) {
  const std::string option = "--plugin";
  std::vector<std::string> others;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.rfind(option + '=', 0) == 0) {
      load_plugin(word.substr(option.size() + 1));
    } else if (word != option) {
      others.push_back(word);
    } else if (++i < words.size()) {
      load_plugin(words[i]);
    } else {
      throw UsageError("servetwin: --plugin needs a file");
    }
  }
  return others;
}

ExitCode dispatch(const std::vector<std::string>& given, Terminal& terminal) {
  const std::vector<std::string> words = load_plugins(given);
  if (words.empty()) {
    terminal.err(overview());
    return ExitCode::kBadInput;
  }
  const std::string& first = words.front();
  if (first == "--version") {
    terminal.out(version_text());
    return ExitCode::kOk;
  }
  std::vector<std::string> rest(words.begin() + 1, words.end());
  if (first != "--help" && first != "-h" && first != "help") return run_verb(first, rest, terminal);
  if (!rest.empty()) return run_verb(rest.front(), {"--help"}, terminal);
  terminal.out(overview());
  return ExitCode::kOk;
}

void tell(Terminal& terminal, const std::string& message) {
  terminal.err(terminal.alarming("error:") + ' ' + message + '\n');
}

void tell(Terminal& terminal, const std::vector<Problem>& problems) {
  for (std::size_t i = 0; i < problems.size() && i < kProblemsShown; ++i)
    tell(terminal, to_string(problems[i]));
  if (problems.size() > kProblemsShown)
    tell(terminal, fmt::format("and {} more", problems.size() - kProblemsShown));
}

}  // namespace

void report_broken_invariants(const std::vector<std::string>& words) {
  std::string& command = replay_command();
  command = "servetwin";
  for (const std::string& word : words) command += ' ' + quoted(word);
  set_check_handler(&on_broken_invariant);
}

ExitCode run_command_line(const std::vector<std::string>& words, Terminal& terminal) {
  try {
    const ExitCode code = dispatch(words, terminal);
    terminal.flush();
    return code;
  } catch (const UsageError& error) {
    tell(terminal, error.what());
    return ExitCode::kBadInput;
  } catch (const ConfigError& error) {
    tell(terminal, error.problems());
    return ExitCode::kBadInput;
  } catch (const IoError& error) {
    tell(terminal, error.what());
  } catch (const ExecutionError& error) {
    tell(terminal, error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    tell(terminal, error.what());
  } catch (const std::bad_alloc&) {
    tell(terminal, "out of memory");
  }
  return ExitCode::kIo;
}

}  // namespace servetwin
