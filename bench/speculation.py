#!/usr/bin/env python3
"""What speculation gives over HTTP, and what it costs where nothing can be drafted.

Two servers of the same program and model, one with prompt lookup, gate and audit, one
without a drafter and without a gate, are loaded in turns by the same client: with,
without, and without again (the null arm), in an order that rotates from round to
round. Rates are of decoding alone, after every stream's first token. Printed are the
medians of the ratios taken within rounds, and their spread; a difference smaller than
the null arm's spread is no difference.

    bench/speculation.py --build build/release --model FILE --kind copy --streams 1

copy: a text is to be repeated. prose: stories at temperature 1.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOPICS = ["a clockmaker by the sea", "the history of bread", "a lost dog in Prague",
          "how rain forms", "two brothers and a boat", "the first telescope",
          "a quiet library", "winter in the mountains"]


def prompts(kind, streams):
    source = (ROOT / "engine/speculation/round.cpp").read_text()
    for i in range(streams):
        if kind == "copy":
            begin = 200 * i % 1400
            yield ("Repeat the following file exactly.\n```cpp\n" + source[begin:begin + 2200] +
                   "\n```\nHere is the same file again:\n```cpp\n")
        else:
            yield (f"Write a long story, number {i}, about {TOPICS[i % 8]}. "
                   "It begins like this: ")


class Server:
    def __init__(self, program, model, port, options):
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [program, "serve", "--model", model, "--port", str(port), *options],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def get(self, path):
        try:
            with urllib.request.urlopen(self.url + path, timeout=5) as answer:
                return json.load(answer)
        except (urllib.error.URLError, OSError):
            return None

    def wait(self, path, ready, seconds=300):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            seen = self.get(path)
            if seen and ready(seen):
                return seen
            if self.process.poll() is not None:
                sys.exit("a server has ended")
            time.sleep(0.1)
        sys.exit(f"{self.url}{path} is not ready after {seconds} s")

    def stop(self):
        self.process.terminate()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release", type=pathlib.Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--kind", choices=["copy", "prose"], default="copy")
    parser.add_argument("--streams", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=220)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--port", type=int, default=18180)
    parser.add_argument("--json", type=pathlib.Path)
    chosen = parser.parse_args()
    program = str(chosen.build / "cli/vouch")
    client = str(chosen.build / "bench/http/load_client")
    drafting = Server(program, chosen.model, chosen.port, [])
    # The probe is over before anything is timed.
    drafting.wait("/speculation",
                  lambda s: s["verdict"] == "equal" and not s["probe"]["running"])
    classic = Server(program, chosen.model, chosen.port + 1,
                     ["--speculation.drafter", "none", "--speculation.probe", "off"])
    classic.wait("/v1/models", bool)
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for prompt in prompts(chosen.kind, chosen.streams):
            file.write(json.dumps({"prompt": prompt}) + "\n")
        file.flush()

        def rate(server):
            sampling = ["--temperature", "1", "--seed", "3"] if chosen.kind == "prose" else []
            out = subprocess.run(
                [client, server.url, "--clients", str(chosen.streams), "--prompts", file.name,
                 "--max-tokens", str(chosen.tokens), *sampling],
                check=True, capture_output=True, text=True).stdout
            seen = json.loads(out)
            if seen["errors"] or seen["tokens"] < chosen.streams * chosen.tokens:
                sys.exit(f"not all streams were served: {out}")
            return seen["window_tokens_per_s"]

        rate(drafting), rate(classic)
        ratios, null, rates = [], [], []
        for number in range(chosen.rounds):
            arms = ["with", "without", "again"]
            order = arms[number % 3:] + arms[:number % 3]
            seen = {arm: rate(drafting if arm == "with" else classic) for arm in order}
            ratios.append(seen["with"] / seen["without"])
            null.append(seen["again"] / seen["without"])
            rates.append(seen)
    audit = drafting.get("/speculation")["audit"]
    drafting.stop()
    classic.stop()

    def spread(values):
        ordered = sorted(values)
        return ordered[len(ordered) // 2], ordered[0], ordered[-1]

    found = {"kind": chosen.kind, "streams": chosen.streams, "tokens": chosen.tokens,
             "ratio": spread(ratios), "null": spread(null), "rates": rates, "audit": audit}
    print("{}, {} streams: {:.2f} of classic ({:.2f} to {:.2f}); null arm {:.2f} ({:.2f} to "
          "{:.2f})".format(chosen.kind, chosen.streams, *found["ratio"], *found["null"]))
    print("decode tok/s, medians: {:.0f} with, {:.0f} without; audit {:.2f} s, {} dropped".format(
        spread([r["with"] for r in rates])[0], spread([r["without"] for r in rates])[0],
        audit["seconds"], audit["dropped"]))
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
