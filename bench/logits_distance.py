"""How far the served SmolLM2's next-token distributions are from float32's,
beside llama.cpp's: KL(reference || program) over the whole vocabulary at every
position of bench/logits/texts.

The reference is transformers in float32 on the file's dequantised weights. All
are given the same tokens, in chunks that each start an empty context.

    make build
    python3 -m venv VENV
    VENV/bin/pip install numpy torch transformers tokenizers gguf
    VENV/bin/python bench/logits_distance.py \\
        --llama-cpp "$(bench/build_llama_cpp)"

Exit code 1: the mean or p99 divergence is more than --at-most of llama.cpp's on
the same file, with its default or without flash attention.
"""

import argparse
import contextlib
import pathlib
import sys
import tempfile

from logits import divergence, reference, rows
from peers import programs

ROOT = pathlib.Path(__file__).resolve().parent.parent
OURS, DEFAULT = "Vouch, f16 cache", "llama.cpp, f16 cache"
NO_FLASH = "llama.cpp, f16 cache, no flash attention"
JUDGED = [DEFAULT, NO_FLASH]


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--llama-cpp", type=pathlib.Path, required=True,
                        help="folder of its programs and libraries")
    parser.add_argument("--llama-source", type=pathlib.Path,
                        help="default: where build_llama_cpp unpacks it")
    parser.add_argument("--model", help="default: tools/fetch-model's")
    parser.add_argument("--q4-0", help="llama.cpp's requantised file; default: "
                        "made in the folder above --llama-cpp")
    parser.add_argument("--vouch-logits", type=pathlib.Path, default=ROOT /
                        "build/release/bench/logits/vouch_logits")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--chunk", type=int, default=512,
                        help="tokens of a context (512)")
    parser.add_argument("--rows", type=int, default=512,
                        help="tokens that llama.cpp takes at a time (512)")
    parser.add_argument("--text", type=pathlib.Path, nargs="+",
                        help="other texts than bench/logits/texts")
    parser.add_argument("--f32-cache", action="store_true",
                        help="both programs with a float32 cache as well")
    parser.add_argument("--at-most", type=float,
                        help="the ratio above which to exit with 1")
    return parser.parse_args()


def build_peer(options, folder):
    source = options.llama_source or next(iter(
        options.llama_cpp.parent.parent.glob("*/vendor/llama.cpp")), None)
    if source is None:
        raise programs.ProgramError("no source of llama.cpp beside "
                                    f"{options.llama_cpp}; use --llama-source")
    program = pathlib.Path(folder) / "peer_logits"
    programs.output_of(
        ["c++", "-std=c++20", "-O2", ROOT / "bench/logits/peer_logits.cpp",
         "-o", program, "-I", source / "include", "-I",
         source / "ggml/include", "-L", options.llama_cpp, "-lllama", "-lggml",
         "-lggml-base", "-lggml-cpu", f"-Wl,-rpath,{options.llama_cpp}"])
    return program


def contenders(options, peer):
    """{name: command line}"""
    requantised = options.q4_0 or programs.requantised(
        options.llama_cpp / "llama-quantize", options.model,
        options.llama_cpp.parent)

    def ours(cache):
        return [options.vouch_logits, options.model, "--threads",
                options.threads, "--kv-type", cache, "--context",
                options.chunk]

    def theirs(cache, flash, model=options.model):
        return [peer, model, options.threads, cache, flash, options.rows]

    found = {OURS: ours("f16"), DEFAULT: theirs("f16", "auto"),
             NO_FLASH: theirs("f16", "off")}
    if options.f32_cache:
        found["Vouch, f32 cache"] = ours("f32")
        found["llama.cpp, f32 cache"] = theirs("f32", "auto")
        found["llama.cpp, f32 cache, no flash attention"] = theirs("f32", "off")
    found["llama.cpp, its Q4_0"] = theirs("f16", "auto", requantised)
    return found


def chunks(options, exact):
    """Lists of token ids, of every text in turn."""
    files = options.text or sorted((ROOT / "bench/logits/texts").glob("*.txt"))
    for file in files:
        tokens = exact.tokens(file.read_text(encoding="utf-8"))
        for begin in range(0, len(tokens), options.chunk):
            yield tokens[begin:begin + options.chunk]


def measure(options, commands):
    """{name: Distances}; one chunk's rows are in memory at a time."""
    exact = reference.Reference(options.model, options.threads)
    found = {name: divergence.Distances() for name in commands}
    with contextlib.ExitStack() as running:
        started = {
            name: running.enter_context(
                contextlib.closing(rows.RowsProgram(command)))
            for name, command in commands.items()}
        count = 0
        for tokens in chunks(options, exact):
            expected = rows.Expected(exact.rows(tokens))
            for name, program in started.items():
                found[name].add(*expected.distances(program.rows(tokens)))
            count += len(tokens)
            print(f"{count} positions", file=sys.stderr, flush=True)
    return found


def run(options):
    if not 1 <= options.rows <= 2048 or not 2 <= options.chunk <= 2048:
        raise programs.ProgramError("--rows and --chunk: at most 2048")
    options.model = options.model or programs.model_path()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(options, contenders(options,
                                            build_peer(options, folder)))
    ours, judged = found[OURS], {name: found[name] for name in JUDGED}
    print(f"KL(float32 || program), nats, {len(ours.divergence)} positions\n")
    print(divergence.table(found))
    print("\nRatios, [90% of resamples]\n")
    print(divergence.ratio_table(
        ours, {name: found[name] for name in found if name != OURS}))
    if options.at_most is None:
        return 0
    complaints = divergence.exceeding(ours, judged, options.at_most)
    print("\n" + "\n".join(complaints or [
        f"mean and p99 are at most {options.at_most} of llama.cpp's"]))
    return 1 if complaints else 0


def main():
    try:
        sys.exit(run(parse_arguments()))
    except (programs.ProgramError, rows.RowsError, OSError) as error:
        print(f"logits_distance: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
