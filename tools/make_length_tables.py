#!/usr/bin/env python3
# Makes engine/workload/length_figures.cpp: quantiles of prompt and answer lengths of recorded traffic.
# Usage: tools/make_length_tables.py DATA_DIR | clang-format > engine/workload/length_figures.cpp
import csv
import sys

INPUT_PROBABILITIES = [i / 100 for i in range(99)] + [0.985, 0.99, 0.995, 0.999, 1.0]
OUTPUT_PROBABILITIES = [i / 50 for i in range(50)] + [0.99, 0.995, 0.999, 1.0]
GROUPS = 5
TABLES = [
    ("azure-2023-conversation", "traces_azure2023/conv.csv"),
    ("azure-2023-code", "traces_azure2023/code.csv"),
]
SOURCE = ("Azure LLM inference traces, November 2023 (AzurePublicDataset, "
          "CC-BY 4.0; Patel et al., Splitwise, ISCA 2024)")


def quantile(ordered, p):
    # Linear between order statistics (type 7), rounded half up.
    position = p * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return int(ordered[low] + (ordered[high] - ordered[low]) * (position - low) + 0.5)


def figures(values, probabilities):
    ordered = sorted(values)
    return [quantile(ordered, p) for p in probabilities]


def lines(values, indent):
    text, line = [], indent
    for value in values:
        item = f"{value}, "
        if len(line) + len(item) > 108:
            text.append(line.rstrip())
            line = indent
        line += item
    text.append(line.rstrip().rstrip(","))
    return "\n".join(text)


def table(name, path):
    with open(path, newline="") as file:
        rows = [(int(r["input_tokens"]), int(r["output_tokens"])) for r in csv.DictReader(file)]
    rows.sort(key=lambda row: row[0])
    print(f'     {{"{name}",\n      kAzureSource,\n      {{')
    print(lines(figures([r[0] for r in rows], INPUT_PROBABILITIES), "          ") + "},")
    print("      {{")
    groups = []
    for g in range(GROUPS):
        part = rows[len(rows) * g // GROUPS:len(rows) * (g + 1) // GROUPS]
        groups.append("          {" + lines(figures([r[1] for r in part], OUTPUT_PROBABILITIES),
                                              "           ").lstrip() + "}")
    print(",\n".join(groups))
    print("      }}}")


def main():
    folder = sys.argv[1]
    print("// Figures of recorded traffic for the built-in length tables, "
          "made by tools/make_length_tables.py.")
    print("// Azure LLM inference traces, November 2023: CC-BY 4.0, cite Patel et al., Splitwise, ISCA 2024.")
    print('#include "engine/workload/length_tables.h"\n\nnamespace servetwin {\nnamespace {\n')
    print("// Source and licence, as reports cite it.")
    print("constexpr const char* kAzureSource =")
    half = SOURCE.index("CC-BY")
    print(f'    "{SOURCE[:half]}"\n    "{SOURCE[half:]}";\n')
    print("}  // namespace\n")
    print("const std::vector<double>& input_probabilities() {")
    print("  static const std::vector<double> kProbabilities{")
    print(lines([f"{p:g}" for p in INPUT_PROBABILITIES], "      ") + "};")
    print("  return kProbabilities;\n}\n")
    print("const std::vector<double>& output_probabilities() {")
    print("  static const std::vector<double> kProbabilities{")
    print(lines([f"{p:g}" for p in OUTPUT_PROBABILITIES], "      ") + "};")
    print("  return kProbabilities;\n}\n")
    print("const std::vector<LengthFigures>& length_figures() {")
    print("  static const std::vector<LengthFigures> kFigures{")
    for i, (name, path) in enumerate(TABLES):
        if i > 0:
            print("     ,")
        table(name, f"{folder}/{path}")
    print("  };\n  return kFigures;\n}\n\n}  // namespace servetwin")


main()
