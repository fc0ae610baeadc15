// If this fails, a public benchmark client cannot measure the server, or measures something else than the
// server itself has counted.
#include <cstdlib>
#include <string>

#include "tests/http/live_rig.h"
#include "tests/http/server_rig.h"
#include "tests/support/catch.h"

namespace servetwin::test::aiperf_test {
namespace {

bool client_agrees(std::uint16_t port, const std::string& tokenizer, const std::string& folder) {
  const std::string python = SERVETWIN_SOURCE_DIR "/build/aiperf/bin/python";
  const std::string script = SERVETWIN_SOURCE_DIR "/tests/http/aiperf_client.py";
  const std::string url = "http://127.0.0.1:" + std::to_string(port);
  return std::system((python + " " + script + " " + url + " " + tokenizer + " " + folder).c_str()) == 0;
}

TEST_CASE("AIPerf counts the requests and tokens that the server counts, and no errors", "[slow]") {
  if (std::system("test -x " SERVETWIN_SOURCE_DIR "/build/aiperf/bin/aiperf") != 0) {
    WARN("skipped: no AIPerf (tools/setup --test-extras installs it)");
    return;
  }
  const LiveRig live("aiperf",
                     R"({"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "</s>", "chat_template":
        "{% for m in messages %}<|im_start|>{{m.role}}\n{{m.content}}<|im_end|>{% endfor %}<|im_start|>"})");
  CHECK(client_agrees(live.port(), live.folder(), live.folder() + "/of_live"));
  const ServerRig simulated;
  CHECK(client_agrees(simulated.port(), live.folder(), live.folder() + "/of_simulated"));
}

}  // namespace
}  // namespace servetwin::test::aiperf_test
