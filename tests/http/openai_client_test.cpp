// If this fails, programs written with OpenAI's own Python client do not work against the server.
#include <cstdlib>
#include <string>

#include "tests/http/server_rig.h"
#include "tests/support/catch.h"

namespace servetwin::test::openai_client_test {
namespace {

TEST_CASE("the official Python client gets whole and streamed answers, errors it knows, and may leave",
          "[slow]") {
  const std::string python = SERVETWIN_SOURCE_DIR "/build/oracles/bin/python";
  if (std::system((python + " -c 'import openai' 2>/dev/null").c_str()) != 0) {
    WARN("skipped: no Python module openai (tools/setup --test-extras installs it)");
    return;
  }
  const ServerRig rig;
  const std::string script = SERVETWIN_SOURCE_DIR "/tests/http/openai_client.py";
  const std::string url = "http://127.0.0.1:" + std::to_string(rig.port());
  CHECK(std::system((python + " " + script + " " + url).c_str()) == 0);
  CHECK(ServerRig::soon([&] { return rig.idle(); }));
}

}  // namespace
}  // namespace servetwin::test::openai_client_test
