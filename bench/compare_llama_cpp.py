"""Decode and prefill beside llama.cpp: same file, same threads, same run.

The two programs run in alternation, so that a machine that drifts drifts for
both; printed are the medians, their spread, and the median of the ratios of
neighbouring runs.

    make build PRESET=bench
    python3 bench/compare_llama_cpp.py --llama-bench "$(bench/build_llama_cpp)"
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def model_path():
    return subprocess.run([ROOT / "tools/fetch-model"], check=True,
                          capture_output=True, text=True).stdout.strip()


def run_llama(options):
    out = subprocess.run(
        [options.llama_bench, "-m", options.model, "-t", str(options.threads),
         "-p", str(options.prompt), "-n", str(options.tokens), "-r", "1",
         "-o", "json"],
        check=True, capture_output=True, text=True).stdout
    rates = {}
    for entry in json.loads(out):
        rates["prefill" if entry["n_prompt"] else "decode"] = entry["avg_ts"]
    return rates


def run_vouch(options):
    out = subprocess.run(
        [options.vouch_bench, options.model, "--threads", str(options.threads),
         "--prompt", str(options.prompt), "--tokens", str(options.tokens)],
        check=True, capture_output=True, text=True).stdout
    entry = json.loads(out)
    return {"prefill": entry["prefill_tok_s"], "decode": entry["decode_tok_s"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--llama-bench", required=True)
    parser.add_argument("--vouch-bench",
                        default=ROOT / "build/bench/bench/executor/bench_executor")
    parser.add_argument("--model", default=None)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--at-least", type=float, default=None,
                        help="exit 1 when decode's ratio is below this")
    options = parser.parse_args()
    options.model = options.model or model_path()

    runs = {"vouch": [], "llama.cpp": []}
    run_vouch(options), run_llama(options)  # a warm-up, not counted
    for _ in range(options.rounds):
        runs["vouch"].append(run_vouch(options))
        runs["llama.cpp"].append(run_llama(options))

    print(f"{os.path.basename(options.model)}, {options.threads} threads, "
          f"{options.rounds} alternations, tok/s")
    print(f"{'':10}{'':10}{'median':>9}{'min':>9}{'max':>9}")
    ratios = {}
    for what in ("prefill", "decode"):
        for name, entries in runs.items():
            rates = [entry[what] for entry in entries]
            print(f"{what:10}{name:10}{statistics.median(rates):9.1f}"
                  f"{min(rates):9.1f}{max(rates):9.1f}")
        pairs = [ours[what] / theirs[what]
                 for ours, theirs in zip(runs["vouch"], runs["llama.cpp"])]
        ratios[what] = statistics.median(pairs)
        print(f"{what:10}{'ratio':10}{ratios[what]:9.2f}{min(pairs):9.2f}"
              f"{max(pairs):9.2f}")
    if options.at_least is not None and ratios["decode"] < options.at_least:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
