// The pages, one for each code used anywhere in the program.
#include "scenarios/error_codes.h"

namespace servetwin {
namespace {

const std::vector<ErrorPage> kPages = {
    {"CAL001", "Too little was measured",
     "A fit needs more measured steps than it has prices, of several kinds of steps. Nothing is written, and "
     "the rows measured so far are kept: the same command goes on from them.",
     "servetwin calibrate calibrate-cpu --budget 2min"},
    {"CAL101", "No address of a server that can be measured",
     "Endpoints are named as http://HOST:PORT, with a path before /v1 where there is one. Encrypted "
     "connections "
     "are not measured: name the server's own port, or one that a tunnel opens on this machine.",
     "servetwin calibrate --endpoint http://127.0.0.1:8000 --out server.yaml"},
    {"CAL102", "A server that cannot be measured",
     "The server does not take connections, asks for a key, has not the model, or does not stream "
     "completions. "
     "The message has what it answered. Rows measured before are kept: the same command goes on from them.",
     "servetwin calibrate --endpoint http://127.0.0.1:8000 --model llama --api-key-env KEY --out "
     "server.yaml"},
    {"CAL103", "Rows of another server",
     "The file of rows was measured on another server, version or model, or is no such file. Times of two "
     "servers are never mixed.",
     "servetwin calibrate --endpoint http://127.0.0.1:8000 --rows other.csv --out server.yaml"},
    {"CFG001", "No such file",
     "The name is neither a file nor the short name of a shipped scenario. `servetwin list` shows the "
     "short names.",
     "servetwin simulate quickstart"},
    {"CFG002", "Not a regular file",
     "Only regular files, or - for standard input, are read. Directories, pipes and devices are refused "
     "because they hold no text or may block for ever.",
     "servetwin simulate - < scenario.yaml"},
    {"CFG003", "File cannot be read",
     "The file exists but the system refuses to open or read it, usually for lack of permission.",
     "chmod u+r scenario.yaml"},
    {"CFG004", "File too large",
     "A configuration file may have at most 16 MiB. Traces and profiles are files of their own, named "
     "by the scenario.",
     "workload: {trace: requests.csv.zst}"},
    {"CFG005", "Empty file", "The file holds no value: it is empty, blank, or nothing but comments.",
     "servetwin init scenario"},
    {"CFG006", "Not clean text",
     "The file must be UTF-8 without control characters. A byte order mark and CRLF line ends are "
     "accepted; UTF-16 and Latin-1 are not. Line and column point at the first bad byte.",
     "iconv -f latin1 -t utf8 old.yaml > new.yaml"},
    {"CFG007", "Not YAML",
     "The text breaks the grammar of YAML. Usual causes are mixed indentation, a missing space after a "
     "colon, and a bracket or quote that is never closed; the place is where the parser noticed, which "
     "may be later.",
     "engine: {num_blocks: 1000}"},
    {"CFG008", "Duplicate key",
     "A map has the same key twice. Parsers differ in which of the two they keep, so neither is taken; "
     "both places are named.",
     "seed: 1    # and no second seed: in the same map"},
    {"CFG009", "Second document",
     "A file holds one scenario. `---` begins a second document, which other readers would drop "
     "silently.",
     "put the second scenario into a file of its own"},
    {"CFG010", "Anchor or alias",
     "YAML's anchors (&name) and aliases (*name) can make a small file huge, or a cycle, and hide where "
     "a value comes from. Write the value out, or share a file with `extends:`.",
     "extends: base.yaml"},
    {"CFG011", "Merge key",
     "`<<:` is an old extension of YAML that few parsers support alike; it is not merged here. "
     "`extends:` at the top of the file lays it upon another file, key by key.",
     "extends: base.yaml\nspec: {replicas: 4}"},
    {"CFG012", "Tag",
     "Tags such as !!python/object or !!int are refused. Types follow from the key; a text that looks "
     "like a number goes in quotes.",
     "metadata: {name: \"123\"}"},
    {"CFG013", "Nested too deep",
     "Maps and lists may be nested 64 levels deep. No scenario needs more than 8.", "flatten the file"},
    {"CFG014", "Too many values",
     "A file may hold 200,000 values and lines of 65,536 bytes. Per-request data belong into a trace.",
     "workload: {trace: requests.csv}"},
    {"CFG015", "Key is no plain text", "A key of a map must be plain text, not a list, a map or null.",
     "replicas: 2"},
    {"CFG017", "Bad `extends`",
     "`extends` names one file, relative to the file it stands in, or a shipped scenario. Files that "
     "extend each other in a circle, and chains of more than 16, are refused.",
     "extends: quickstart"},
    {"CFG018", "Bad override",
     "On the command line a value is set as key.path=value. The path starts at `spec`; list items are "
     "written name[0]; the value is YAML and replaces what was there. --workload takes trace:FILE.",
     "--set engine.max_num_seqs=64 --set 'engine.in_flight={depth: 2}'"},
    {"CFG101", "Unknown key",
     "The key is not known at this place. The nearest valid name and all valid ones are listed; "
     "`servetwin list` and docs/scenarios.md describe them.",
     "max_num_seqs: 64    # not max_num_seq"},
    {"CFG102", "Wrong kind of value",
     "A text stands where a map or list is due, or a number is written in quotes.", "graph_sizes: [1, 2, 4]"},
    {"CFG103", "Bad value",
     "The text cannot be read as what the key needs. Numbers are decimal (no octal or hex), may group "
     "digits as 1_000 and use 1e6; NaN and infinity are refused; booleans are true and false only. "
     "Times, sizes and rates need a unit: ns us ms s min h; kB MB GB (1000) or KiB MiB GiB (1024); "
     "GB/s, Gbps; req/s. Units are case-sensitive.",
     "slo: {ttft: 500ms}"},
    {"CFG104", "Out of range",
     "The value can be read but lies outside the stated limits, both of which are named.",
     "replicas: 2    # 1 to 4096"},
    {"CFG105", "Missing key",
     "The key has no default and must be given: a silent default for it would decide the answer.",
     "cost: {model: analytic}"},
    {"CFG106", "Values contradict each other",
     "Each value alone is fine, but not all of them together; the message names them.",
     "turns: {min: 2, max: 8}    # min is not above max"},
    {"CFG107", "Unknown name",
     "No rule, router, cost model, distribution, model or device has this name. The nearest and all "
     "valid ones are listed.",
     "router: round_robin"},
    {"CFG201", "KV capacity missing or given twice",
     "The number of KV blocks decides how many requests run at once, so it has no default. Give exactly "
     "one of memory_fraction (the memory model works the blocks out and prints how) and num_blocks "
     "(known from the engine's start-up log, the null block included).",
     "engine: {memory_fraction: 0.9}"},
    {"CFG202", "Settings do not fit together",
     "Scheduler settings exclude each other; for example, without chunked prefill a prompt of "
     "max_model_len must fit into the token budget of one step.",
     "engine: {chunked_prefill: true}"},
    {"CFG203", "Model does not fit the layout or length",
     "The model's heads cannot be split over the tensor parallel ranks, or a live rank's columns of a "
     "quantised matrix would cut through its blocks; pipeline stages are asked for, which cannot be "
     "simulated; or the model supports fewer positions than max_model_len.",
     "layout: {tp: 8}    # 32 heads, 8 KV heads"},
    {"CFG301", "Output folder in use",
     "The folder of --out holds the files of another run. Results are never mixed or overwritten "
     "unasked.",
     "servetwin simulate quickstart --out runs/second"},
    {"CFG302", "Not the folder of a run",
     "The folder has no config.yaml or no summary.json of this program, so it is not what `servetwin "
     "simulate --out` wrote.",
     "servetwin explain runs/chat request 12"},
    {"CFG401", "Not possible live",
     "The scenario asks for something that the simulator has and the live engine has not yet, such as a "
     "model whose weights cannot be read, ranks that cannot split it or a cache that is warm at the start.",
     "model: servetwin/tiny-llama-random"},
    {"CFG601", "Launch command not understood",
     "The command of `servetwin init --from` starts no engine whose flags are known, names no model, or "
     "gives a flag a value that makes no sense. Flags that are merely unknown are listed and left out.",
     "servetwin init --from 'vllm serve meta-llama/Llama-3.1-8B' --device h100-sxm"},
    {"CMP001", "Not the same requests",
     "Runs can only be compared request by request when all of them were given the same ones: arrival, "
     "class, tenant, prompt and limit, and the output of those that finished. The message names the first "
     "request that differs. Later turns of conversations and closed loops may arrive at other times.",
     "servetwin compare quickstart --vary engine.max_num_seqs=64,256"},
    {"CMP002", "Requests of a closed loop have no names",
     "In a closed loop without sessions, or in the files of a finished one, which request is which depends "
     "on "
     "who was served first, so there is nothing to pair. Conversations have numbers that stay.",
     "workload: {arrivals: {process: poisson, rate: 4/s}}"},
    {"CMP003", "Not the same SLOs",
     "The share of requests that meet their SLO answers nothing when the SLOs are not the same.",
     "servetwin compare a.yaml b.yaml --set slo.ttft=1s"},
    {"CMP004", "Not a complete run",
     "A run that was stopped or stalled has requests that never ended; only complete runs can be compared "
     "from their files.",
     "servetwin simulate quickstart --out runs/second"},
    {"JRN001", "Not a journal",
     "The file does not begin with the whole header of a journal, as servetwin writes it.",
     "servetwin replay runs/chat/journal.jsonl.zst"},
    {"JRN002", "Unknown journal version",
     "The journal was written in a format version that this program does not read. Use the program that "
     "wrote it.",
     "servetwin replay runs/chat/journal.jsonl.zst"},
    {"JRN003", "Damaged journal frame",
     "A compressed frame is damaged or ends within a line. A torn last frame alone is no error: it is "
     "said and left out.",
     "copy the journal again from its source"},
    {"JRN004", "Damaged journal line",
     "A line does not have the form of its kind, or contradicts the lines before it; the message says "
     "how.",
     "copy the journal again from its source"},
    {"JRN005", "Journal beyond the limits",
     "A line, a frame or the number of requests that have not arrived is larger than any journal this "
     "program writes.",
     "copy the journal again from its source"},
    {"JRN006", "Journal does not fit the run",
     "The durations of a journal are replayed in another run than the one it was recorded from, and a "
     "step is missing or has no end.",
     "record the run again with --journal"},
    {"JRN007", "Journal cut off",
     "The journal's last line, which says how the run ended, is missing: the run was killed or the file not "
     "copied whole. What is there is replayed and compared, but it is no answer about the run.",
     "servetwin simulate chat.yaml --out runs/chat --journal --force"},
    {"MDL001", "Model file cannot be opened",
     "The file or folder of weights is missing, empty, a device or pipe, or the system refuses to open "
     "it.",
     "ls -l model/model.safetensors"},
    {"MDL002", "Model file ends too early",
     "The file ends within its header: it was not copied whole, or is no model file. The message says "
     "what was being read, how many bytes were due, and how many are left.",
     "sha256sum model.gguf"},
    {"MDL003", "Header length impossible",
     "The first eight bytes of a safetensors file are the length of its header. The length is above "
     "100,000,000 bytes or larger than the file; both numbers are named.",
     "head -c 8 model.safetensors | xxd"},
    {"MDL004", "Header is not JSON",
     "The header of a safetensors file, or an index of shards, does not begin with {, is not UTF-8, "
     "breaks the grammar of JSON, or is nested deeper than 8 levels.",
     "head -c 200 model.safetensors"},
    {"MDL005", "Header field wrong",
     "A field of a safetensors header is missing, unknown, there twice, or of the wrong kind; values of "
     "__metadata__ must be texts.",
     "{\"w\": {\"dtype\": \"F32\", \"shape\": [4, 4], \"data_offsets\": [0, 64]}}"},
    {"MDL006", "Tensor there twice",
     "Two tensors have the same name. Readers differ in which of the two they keep, so neither is taken.",
     "write the file again with each tensor once"},
    {"MDL007", "Number format not supported",
     "The tensor's number format is unknown, or is one that this program cannot read or compute with; it "
     "is named.",
     "quantise the model to Q4_1, Q8_0 or Q4_K"},
    {"MDL008", "Tensor shape impossible",
     "A dimension is zero or negative where it may not be, the product of the dimensions is beyond 2^63, "
     "a row is no whole number of blocks, or the shape is not the one that the model's configuration "
     "gives.",
     "compare vocab_size in config.json with the embedding's rows"},
    {"MDL009", "Tensor size does not match its shape",
     "The bytes that the offsets span are not the bytes that shape and number format take; both are "
     "named.",
     "write the file again"},
    {"MDL010", "Tensor offset impossible",
     "A tensor's offsets are reversed, or point outside the file; the offset and the file's size are "
     "named.",
     "download the file again"},
    {"MDL011", "Tensors overlap", "Two tensors share bytes of the file. No writer does that by accident.",
     "download the file again from its publisher"},
    {"MDL012", "Bytes that belong to no tensor",
     "There is a hole between two tensors, which could hold anything.", "write the file again"},
    {"MDL013", "Extra bytes in a model file",
     "The file goes on after its last tensor. After a GGUF file's last tensor, zeros may follow.",
     "download the file again"},
    {"MDL014", "Tensor data missing",
     "The file ends before the data of a tensor do: it was not copied whole. Missing weights are never "
     "taken for zeros.",
     "sha256sum model.safetensors"},
    {"MDL015", "Not a GGUF file that can be read",
     "The file does not begin with the letters GGUF, is big-endian, or has a version other than 2 and 3.",
     "convert the model with a current converter"},
    {"MDL016", "GGUF metadata wrong",
     "A key or value of the metadata is damaged, there twice, of another type than it must be, or beyond "
     "the limits.",
     "write the file again with a current converter"},
    {"MDL017", "GGUF alignment wrong",
     "general.alignment is no power of two, or a tensor does not begin at a multiple of it.",
     "general.alignment = 32"},
    {"MDL018", "Shards do not fit their index",
     "model.safetensors.index.json names a file that is missing or not plainly beside it, or a shard has "
     "a tensor that the index does not know.",
     "\"weight_map\": {\"lm_head.weight\": \"model-00002-of-00002.safetensors\"}"},
    {"MDL019", "Tensor missing",
     "The model needs a tensor that the checkpoint, or the shard that the index names, does not have.",
     "download all files of the model"},
    {"MDL020", "Model family not supported",
     "The architecture, or a variant of it that the file asks for, is one that this program cannot "
     "compute; it is refused by name rather than computed approximately. docs/models.md lists what is "
     "supported.",
     "servetwin list models"},
    {"MDL021", "Weights that are no numbers",
     "A tensor holds NaN or infinity: everything that is computed with it would be NaN.",
     "download the file again from its publisher"},
    {"MDL022", "Model file changed while in use",
     "The file has become another one since it was opened. What was computed with it is worth nothing.",
     "serve from a folder that nothing writes to"},
    {"PLG001", "Not a plug-in",
     "The file of --plugin cannot be read, or does not hold the mark of a plug-in of this program, which "
     "servetwin_add_plugin() of its CMake package puts there.",
     "servetwin_add_plugin(my_rules my_rules.cpp)"},
    {"PLG002", "Plug-in of another version",
     "The plug-in was compiled against other headers than this program. It is not loaded: what it "
     "believes of the program's data would be wrong. Compile it against the headers installed with the "
     "program.",
     "cmake -S my_rules -B build -DCMAKE_PREFIX_PATH=/usr/local && cmake --build build"},
    {"PLG003", "Plug-in does not load",
     "The system's loader refuses the file, usually for a symbol that the program does not have, or the "
     "plug-in registers a name that is taken.",
     "nm -uC my_rules.so | grep servetwin"},
    {"TRC001", "Trace cannot be read",
     "The trace is missing, a directory, or no regular file. Relative names are looked for beside the "
     "scenario.",
     "workload: {trace: requests.csv}"},
    {"TRC002", "Damaged compression",
     "The gzip or zstd data are cut off or corrupt, or expand to more than the stated limit.",
     "zstd -t requests.csv.zst"},
    {"TRC003", "Trace is not clean text", "A line holds a NUL byte or is longer than any trace row can be.",
     "file requests.csv"},
    {"TRC004", "Trace format not recognised",
     "The first line fits none of the formats: our CSV, the raw Azure CSV, Mooncake JSONL, BurstGPT "
     "CSV.",
     "arrival_s,input_tokens,output_tokens"},
    {"TRC005", "Bad trace row",
     "A value of a row is missing, no number, or outside its limits; file and line are named. "
     "`on_bad_row: skip` leaves such rows out and counts them.",
     "trace: {file: requests.csv, on_bad_row: skip}"},
    {"TRC006", "Trace not sorted",
     "A row is earlier than the one before it. `sort: true` sorts, and holds the whole trace in memory.",
     "trace: {file: requests.csv, sort: true}"},
    {"TRC007", "Empty trace",
     "The trace holds no request, or none is left after start, end and max_requests.",
     "trace: {file: requests.csv, start: 0s}"},
    {"WKL001", "Arrivals need a number of requests",
     "This arrival process is defined for a fixed number of requests only.",
     "workload: {num_requests: 1000, arrivals: all_at_once}"},
    {"WKL002", "Arrivals too slow",
     "At this rate the arrivals would take more than a year, which is where the simulator's time ends.",
     "workload: {arrivals: {process: poisson, rate: 9/s}}"},
    {"WKL003", "Too many arrivals",
     "Rate and duration together give more than a billion requests, which no run comes to the end of.",
     "workload: {arrivals: {process: poisson, rate: 9/s}, duration: 1h}"},
    {"WKL004", "Overloaded without bound",
     "Requests arrive faster than they are served, for so long that 5,000,000 are in the system at once. No "
     "server has such a queue, and the figures of a run would only say how long it was.",
     "engine: {max_queued: 1000}"},
    {"WKL005", "Time stands still",
     "Clients send the next request at the very instant of the answer, and answers take no time: a loop of "
     "users without think time, with a cost model whose steps take 0 ns.",
     "closed_loop: {users: 8, think_time: {mean: 1s}}"},
};

}  // namespace

const std::vector<ErrorPage>& error_pages() { return kPages; }

const ErrorPage* find_error_page(const std::string& code) {
  for (const ErrorPage& page : error_pages()) {
    if (code == page.code) return &page;
  }
  return nullptr;
}

std::string to_text(const ErrorPage& page) {
  return std::string(page.code) + ": " + page.title + "\n\n" + page.explanation + "\n\nExample:\n  " +
         page.example + '\n';
}

}  // namespace servetwin
