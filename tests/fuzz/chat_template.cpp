// Any text either is a template that renders or a ConfigError: no crash, no hang, no boundless memory.
#include "engine/models/chat_template/chat_template.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string kVariables =
      R"({"messages":[{"role":"system","content":" s "},{"role":"user","content":"é"},{"role":"assistant",)"
      R"("content":null,"tool_calls":[{"function":{"name":"f","arguments":{"a":[1,2.5,true]}}}]}],)"
      R"("bos_token":"<s>","eos_token":"</s>","add_generation_prompt":true})";
  try {
    servetwin::ChatTemplate(std::string(data, data + size), "fuzz.jinja").render(kVariables);
  } catch (const servetwin::ConfigError&) {
  }
  return 0;
}
