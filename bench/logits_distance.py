"""How far the served SmolLM2's logits are from float32, beside llama.cpp's.

The reference (tests/fixtures/smollm2) is transformers in float32 on the file's
dequantised weights; both programs are given the reference's own tokens, so that
every step compares. Ours is measured by the test program.

    python3 bench/logits_distance.py --llama SOURCE --llama-build BUILD

SOURCE and BUILD are llama.cpp's, as bench/build_llama_cpp leaves them.
"""

import argparse
import array
import json
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIXTURE = ROOT / "tests/fixtures/smollm2"
STEPS, TOP = 48, 64


def read_reference():
    prompts = json.loads((FIXTURE / "prompts.json").read_text())["prompts"]
    ids, logits = array.array("i"), array.array("f")
    ids.frombytes((FIXTURE / "top.ids.i32").read_bytes())
    logits.frombytes((FIXTURE / "top.logits.f32").read_bytes())
    return [prompt["tokens"] for prompt in prompts], ids, logits


def build_peer(options, folder):
    program = pathlib.Path(folder) / "peer_logits"
    libraries = options.llama_build / "bin"
    subprocess.run(
        ["c++", "-std=c++20", "-O2", ROOT / "bench/peer_logits.cpp", "-o",
         program, "-I", options.llama / "include", "-I",
         options.llama / "ggml/include", "-L", libraries, "-lllama", "-lggml",
         "-lggml-base", "-lggml-cpu", f"-Wl,-rpath,{libraries}"], check=True)
    return program


def measure_peer(options, program):
    prompts, ids, logits = read_reference()
    lines = [str(len(prompts))]
    for number, prompt in enumerate(prompts):
        begin = number * STEPS * TOP
        lines += [f"{len(prompt)} " + " ".join(map(str, prompt)),
                  f"{STEPS} {TOP}",
                  " ".join(map(str, ids[begin:begin + STEPS * TOP]))]
    out = subprocess.run(
        [program, options.model, str(options.threads)], text=True, check=True,
        input="\n".join(lines), capture_output=True).stdout
    worst = total = other = margin = 0
    rows = [line.split() for line in out.splitlines()]
    for step, row in enumerate(rows):
        at = step * TOP
        for value, reference in zip(row, logits[at:at + TOP]):
            difference = abs(float(value) - reference)
            worst, total = max(worst, difference), total + difference
        if int(row[TOP]) != ids[at]:
            other += 1
            margin = max(margin, logits[at] - logits[at + 1])
    count = len(rows) * TOP
    return (f"max {worst:.5f}, mean {total / count:.6f} over {count} logits; "
            f"{other} other greedy picks (widest margin {margin:.4f})")


def measure_ours(options):
    out = subprocess.run(
        [options.test, "--gtest_filter=SmolLM2.ServedModel*"], text=True,
        check=True, capture_output=True).stdout
    return next(line.split(": ", 1)[1] for line in out.splitlines()
                if line.startswith("Q4_1 weights"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--llama", type=pathlib.Path, required=True)
    parser.add_argument("--llama-build", type=pathlib.Path, required=True)
    parser.add_argument("--model", default=pathlib.Path.home() /
                        ".cache/vouch/models/SmolLM2-135M-Instruct.Q4_1.gguf")
    parser.add_argument(
        "--test", default=ROOT /
        "build/release/tests/engine/models/test_engine_models")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print("llama.cpp:", measure_peer(options, build_peer(options, folder)))
    print("vouch:    ", measure_ours(options))


if __name__ == "__main__":
    main()
