// Speed of decoding with a real model on this machine. Prints figures.
#pragma once

namespace servetwin {

// Words: a GGUF file or a folder of safetensors, then options. Returns the exit status.
int decode_bench(int count, char** words);

}  // namespace servetwin
