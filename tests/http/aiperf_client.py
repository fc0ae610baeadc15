# Runs AIPerf against the server of the first argument, with the tokenizer of the second, in the folder of the
# third, and compares its report with the server's metrics. Any difference is an exit code other than 0.
import json
import os
import subprocess
import sys
import urllib.request

url, tokenizer, folder = sys.argv[1:4]
requests, outputs = 24, 10


def server(name, label=""):
    text = urllib.request.urlopen(url + "/metrics").read().decode()
    lines = [line for line in text.splitlines() if line.startswith("vllm:" + name + "{") and label in line]
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines)


model = json.load(urllib.request.urlopen(url + "/v1/models"))["data"][0]["id"]
command = [os.path.join(os.path.dirname(sys.executable), "aiperf"), "profile"]
command += ["--url", url, "--model", model, "--tokenizer", tokenizer]
command += ["--endpoint-type", "chat", "--streaming"]
command += ["--concurrency", "4", "--request-count", str(requests), "--random-seed", "3", "--ui", "none"]
command += ["--synthetic-input-tokens-mean", "40", "--synthetic-input-tokens-stddev", "8"]
command += ["--output-tokens-mean", str(outputs), "--output-tokens-stddev", "0"]
command += ["--extra-inputs", "ignore_eos:true", "--use-server-token-count"]
command += ["--output-artifact-dir", folder]
run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
assert run.returncode == 0, run.stdout[-4000:]

report = json.load(open(os.path.join(folder, "profile_export_aiperf.json")))
figures = {
    "requests": (report["request_count"]["avg"], server("request_success_total", 'reason="length"')),
    "output tokens": (report["total_output_tokens"]["avg"], server("generation_tokens_total")),
    "prompt tokens": (report["total_usage_prompt_tokens"]["avg"], server("prompt_tokens_total")),
}
for name, (theirs, ours) in figures.items():
    assert theirs == ours > 0, (name, theirs, ours)
assert report["request_count"]["avg"] == requests, report["request_count"]
assert report["total_output_tokens"]["avg"] == requests * outputs, report["total_output_tokens"]
assert not report["error_summary"] and report["request_error_rate"]["avg"] == 0, report["error_summary"]

# Clocks start earlier and stop later at the client; the loopback is no second away.
latencies = {"time_to_first_token": "time_to_first_token", "e2e_request_latency": "request_latency"}
for name, theirs in latencies.items():
    mean = server(name + "_seconds_sum") / server(name + "_seconds_count")
    assert mean <= report[theirs]["avg"] / 1000 < mean + 1, (name, mean, report[theirs])
print("aiperf", report["aiperf_version"], {name: ours for name, (_, ours) in figures.items()})
