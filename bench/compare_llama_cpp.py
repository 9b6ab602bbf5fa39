#!/usr/bin/env python3
"""Vouch beside llama.cpp on this machine: the table of its speed targets.

Every line runs Vouch and the other in alternation and prints median
[least, greatest] of both and of the ratios within rounds. Three parts:

  single    decode and prefill of one sequence, beside llama-bench
  batched   4, 8, 16 and 32 sequences, beside llama-batched-bench
  http      8 and 32 streaming clients, beside llama-server and beside Vouch
            itself without HTTP; sampling beside greedy; time to first token;
            time from start to ready

each against the same file (Q4_1) and against llama.cpp's best-supported format,
the file requantised to Q4_0, which it repacks.

    make compare                      build both, then all parts
    python3 bench/compare_llama_cpp.py --llama-cpp "$(bench/build_llama_cpp)"

Exit code 1 with --check when a target was missed, 2 when something failed.
"""

import argparse
import itertools
import json
import os
import pathlib
import sys

from peers import programs, servers
from peers.alternation import Comparison, alternate, table

#: The least ratios wanted, by line and by what they are against.
TARGETS = {
    "decode, batch 1": {"Q4_1": 1.8, "Q4_0": 1.1},
    "prefill": {"Q4_1": 4.5, "Q4_0": 1.4},
    "decode, 8 sequences": {"Q4_1": 3.2, "Q4_0": 1.8},
    "decode, 32 sequences": {"Q4_1": 3.5, "Q4_0": 1.8},
    "8 clients": {"in process": 0.9},
    "32 clients": {"in process": 0.9},
    "8 clients, sampled": {"greedy": 0.93},
}


def target(line, against):
    return TARGETS.get(line, {}).get(against)


class Bench:
    """The options, and one method a part; each returns its comparisons."""

    def __init__(self, options):
        self.options = options
        self.salts = itertools.count()
        self.files = {"Q4_1": options.model, "Q4_0": options.q4_0}

    def tell(self, part):
        def show(number, name):
            if not self.options.quiet:
                what = "warm-up" if number < 0 else f"round {number + 1}"
                print(f"{part}: {what}, {name}", file=sys.stderr)
        return show

    def alternate(self, part, contenders):
        return alternate(contenders, self.options.rounds, tell=self.tell(part))

    def in_process(self, depth, tokens, sequences, prompt=1):
        return programs.vouch_in_process(
            self.options.vouch, self.options.model, self.options.threads,
            depth, tokens, sequences, prompt)

    def against(self, runs, line, what, label=None):
        """Comparisons with both of llama.cpp's files."""
        return [
            Comparison(label or line, f"llama.cpp {name}",
                       [run[what] for run in runs["vouch"]],
                       [run[what] for run in runs[name]],
                       target=target(line, name)) for name in self.files
        ]

    def single(self):
        o = self.options

        def ours():
            # llama-bench decodes from an empty cache.
            return self.in_process(0, o.tokens, 1, o.prompt)

        def theirs(file):
            return lambda: programs.llama_bench(
                o.llama_cpp / "llama-bench", file, o.threads, o.prompt, o.tokens)

        runs = self.alternate("single", {
            "vouch": ours,
            **{name: theirs(file) for name, file in self.files.items()}})
        return (self.against(runs, "decode, batch 1", "decode",
                             f"decode, batch 1, {o.tokens} tokens") +
                self.against(runs, "prefill", "prefill",
                             f"prefill, {o.prompt} tokens"))

    def batched(self):
        o = self.options
        lines = []
        for sequences in o.sequences:
            def theirs(file, count=sequences):
                return lambda: programs.llama_batched_bench(
                    o.llama_cpp / "llama-batched-bench", file, o.threads,
                    o.batch_prompt, o.batch_tokens, count)

            runs = self.alternate(f"{sequences} sequences", {
                "vouch": lambda count=sequences: self.in_process(
                    o.batch_prompt, o.batch_tokens, count),
                **{name: theirs(file) for name, file in self.files.items()}})
            lines += self.against(runs, f"decode, {sequences} sequences",
                                  "decode")
        return lines

    def load(self, server, clients, tokens=None, words=None, sampled=False):
        o = self.options
        return servers.load(o.load_client, server,
                            f"-{os.getpid()}-{next(self.salts)}", clients,
                            tokens or o.http_tokens, words or o.prompt_words,
                            sampled)

    def llama_server(self, file, slots):
        o = self.options
        # A built-in word is a token or two.
        context = 3 * o.prompt_words + o.http_tokens + 64
        return servers.llama_server(o.llama_cpp / "llama-server", file,
                                    o.threads, slots, max(context, 2048 // slots))

    def http(self):
        o = self.options
        lines = []
        for clients in o.clients:
            with servers.vouch_server(o.vouch, o.model, o.threads) as ours, \
                    self.llama_server(o.model, clients) as same, \
                    self.llama_server(o.q4_0, clients) as best:
                lines += self.streams(clients, ours,
                                      {"Q4_1": same, "Q4_0": best})
        with servers.vouch_server(o.vouch, o.model, o.threads) as ours, \
                self.llama_server(o.model, 1) as same, \
                self.llama_server(o.q4_0, 1) as best:
            lines += self.others(ours, {"Q4_1": same, "Q4_0": best})
        return lines + self.starts()

    def streams(self, clients, ours, peers):
        """Tokens a second while every client generates."""
        prompt = self.load(ours, clients)["prompt_tokens"] // clients
        runs = self.alternate(f"{clients} clients", {
            "vouch": lambda: self.load(ours, clients),
            "in process": lambda: self.in_process(
                prompt, self.options.http_tokens, clients),
            **{name: lambda server=server: self.load(server, clients)
               for name, server in peers.items()}})
        rates = {name: [run.get("window_tokens_per_s", run.get("decode"))
                        for run in entries] for name, entries in runs.items()}
        share = [100 * run["client_cpu_s"] / run["wall_s"]
                 for run in runs["vouch"]]
        print(f"{clients} clients: the load client itself used "
              f"{max(share):.1f}% of a core", file=sys.stderr)
        line = f"{clients} clients"
        return [Comparison(f"HTTP, {line}", against if against == "in process"
                           else f"llama-server {against}",
                           rates["vouch"], rates[against],
                           target=target(line, against))
                for against in ("in process", *peers)]

    def others(self, ours, peers):
        runs = self.alternate("sampled", {
            "greedy": lambda: self.load(ours, 8),
            "sampled": lambda: self.load(ours, 8, sampled=True)})
        rates = {name: [run["window_tokens_per_s"] for run in entries]
                 for name, entries in runs.items()}
        lines = [Comparison("HTTP, 8 clients, sampled", "greedy",
                            rates["sampled"], rates["greedy"],
                            target=target("8 clients, sampled", "greedy"))]
        # About 512 tokens.
        words = 500
        runs = self.alternate("first token", {
            name: lambda server=server: self.load(server, 1, 2, words)
            for name, server in {"vouch": ours, **peers}.items()})
        tokens = runs["vouch"][0]["prompt_tokens"]
        times = {name: [run["ttft_ms"]["median"] for run in entries]
                 for name, entries in runs.items()}
        return lines + [
            Comparison(f"time to first token, {tokens} tokens",
                       f"llama-server {name}", times["vouch"], times[name],
                       unit="ms", less_is_better=True) for name in peers]

    def starts(self):
        o = self.options

        def start(make):
            def run():
                with make() as server:
                    return 1000 * server.load_s
            return run

        runs = self.alternate("start", {
            "vouch": start(lambda: servers.vouch_server(o.vouch, o.model,
                                                        o.threads)),
            **{name: start(lambda file=file: self.llama_server(file, 1))
               for name, file in self.files.items()}})
        return [Comparison("start to ready", f"llama-server {name}",
                           runs["vouch"], runs[name], unit="ms",
                           less_is_better=True) for name in self.files]


def read_options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    parts = ("single", "batched", "http")
    add("--llama-cpp", type=pathlib.Path, required=True, metavar="FOLDER",
        help="llama.cpp's programs (bench/build_llama_cpp prints it)")
    add("--build", type=pathlib.Path, metavar="FOLDER",
        default=programs.ROOT / "build/bench", help="Vouch's build")
    add("--model", help="Q4_1 file; default: tools/fetch-model")
    add("--q4-0", metavar="FILE", help="default: made from the model, beside "
        "llama.cpp's programs")
    add("--only", action="append", choices=parts, metavar="PART",
        help="single, batched or http; may be repeated")
    add("--rounds", type=int, default=5)
    add("--threads", type=int, default=os.cpu_count())
    add("--prompt", type=int, default=512, help="of one sequence")
    add("--tokens", type=int, default=128, help="of one sequence")
    add("--sequences", type=int, nargs="+", default=[4, 8, 16, 32])
    add("--batch-prompt", type=int, default=64, help="of each sequence")
    add("--batch-tokens", type=int, default=64, help="of each sequence")
    add("--clients", type=int, nargs="+", default=[8, 32])
    add("--prompt-words", type=int, default=32, help="of each client")
    add("--http-tokens", type=int, default=128, help="of each client")
    add("--json", metavar="FILE", help="write every round's figures as well")
    add("--check", action="store_true",
        help="exit code 1 when a target was missed")
    add("--quiet", action="store_true")
    options = parser.parse_args()
    if min(options.rounds, options.threads) < 1:
        parser.error("--rounds and --threads: expected at least 1")
    options.only = options.only or list(parts)
    options.model = options.model or programs.model_path()
    options.q4_0 = options.q4_0 or programs.requantised(
        options.llama_cpp / "llama-quantize", options.model,
        options.llama_cpp.parent.parent / "models")
    options.vouch = options.build / "cli/vouch"
    options.load_client = options.build / "bench/http/load_client"
    return options


def main():
    try:
        options = read_options()
        bench = Bench(options)
        comparisons = []
        for part in options.only:
            comparisons += getattr(bench, part)()
    except programs.ProgramError as error:
        print(f"compare_llama_cpp: {error}", file=sys.stderr)
        return 2
    print(f"{pathlib.Path(options.model).name}, {options.threads} threads, "
          f"{options.rounds} alternations: median [least, greatest]\n")
    print(table(comparisons))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(
            [vars(one) | {"ratios": one.ratios()} for one in comparisons],
            indent=1))
    missed = [one for one in comparisons if one.reached() is False]
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
