// The plug-ins of an interface by name. A plug-in is one .cpp file whose last line registers it:
//   const Registered<WaitingOrder, ShortestPrompt> kShortestPrompt{"shortest_prompt", "Shortest prompt
//   first."};
#pragma once

#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/params.h"

namespace servetwin {

struct NoMakeContext {};

// What a plug-in is given besides its parameters: Interface::MakeContext where that exists.
template <class Interface>
struct MakeContextOf {
  using Type = NoMakeContext;
};
template <class Interface>
requires requires { typename Interface::MakeContext; }
struct MakeContextOf<Interface> {
  using Type = typename Interface::MakeContext;
};

// One per interface; filled before main, read-only after. Sorted, so link order cannot matter.
template <class Interface>
class Registry {
 public:
  using Context = typename MakeContextOf<Interface>::Type;

  struct Entry {
    std::string name;
    std::string help;
    std::vector<FieldInfo> (*fields)();
    std::unique_ptr<Interface> (*make)(const ConfigNode& params, const Context& context);
  };

  static Registry& instance() {
    static Registry registry;
    return registry;
  }

  void add(const Entry& entry) {
    const bool is_new = entries_.emplace(entry.name, entry).second;
    CHECK_INVARIANT(is_new, entry.name);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& item : entries_) result.push_back(item.first);
    return result;
  }

  // Null when there is none of that name.
  const Entry* find(const std::string& name) const {
    const auto found = entries_.find(name);
    return found == entries_.end() ? nullptr : &found->second;
  }

  // Throws ConfigError, at the place of `params`, for an unknown name or bad parameters.
  std::unique_ptr<Interface> make(const std::string& name,
                                  const ConfigNode& params,
                                  const Context& context = Context{}) const {
    const Entry* entry = find(name);
    if (entry == nullptr) throw ConfigError(unknown_name_problem(params, name, names()));
    return entry->make(params, context);
  }

 private:
  std::map<std::string, Entry> entries_;
};

// Puts Impl into Interface's registry: Impl::Params describes itself, and the constructor is Impl(const
// Params&) or Impl(const Params&, const Interface::MakeContext&).
template <class Interface, class Impl>
struct Registered {
  Registered(const char* name, const char* help) {
    Registry<Interface>::instance().add({name, help, &describe_params<typename Impl::Params>, &make});
  }

 private:
  static std::unique_ptr<Interface> make(const ConfigNode& node,
                                         const typename Registry<Interface>::Context& context) {
    const auto params = read_params<typename Impl::Params>(node);
    if constexpr (std::is_constructible_v<Impl, decltype(params), decltype(context)>) {
      return std::make_unique<Impl>(params, context);
    } else {
      return std::make_unique<Impl>(params);
    }
  }
};

}  // namespace servetwin
