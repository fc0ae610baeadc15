// Reads what tests/oracles/make_tokenizers.py wrote.
#include "tests/support/tokenizer_oracle.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace servetwin {
namespace {

using Json = nlohmann::json;

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

OracleEncoding encoding_of(const Json& row) {
  OracleEncoding out;
  out.bytes = from_hex(row.at("bytes"));
  out.ids = row.at("ids").get<std::vector<TokenId>>();
  out.plain = row.value("plain", out.ids);
  out.unspecial = row.value("unspecial", out.plain);
  out.text = row.at("text");
  return out;
}

}  // namespace

std::string read_whole_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<OracleFamily> read_oracle(const std::string& path) {
  std::vector<OracleFamily> families;
  const Json file = Json::parse(read_whole_file(path));
  for (const auto& item : file.items()) {
    OracleFamily family;
    family.name = item.key();
    family.sha256 = item.value().value("sha256", "");
    for (const Json& row : item.value().at("encode")) family.encodings.push_back(encoding_of(row));
    for (const Json& row : item.value().at("decode")) {
      family.decodings.push_back(
          {row.at("ids").get<std::vector<TokenId>>(), row.at("text"), row.at("skipped")});
    }
    families.push_back(std::move(family));
  }
  return families;
}

}  // namespace servetwin
