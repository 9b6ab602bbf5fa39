"""Programs that run once and print figures; each returns rates in tok/s."""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class ProgramError(Exception):
    """A program failed or printed something else than expected."""


def output_of(arguments):
    arguments = [str(argument) for argument in arguments]
    try:
        done = subprocess.run(arguments, capture_output=True, text=True,
                              check=False)
    except OSError as error:
        raise ProgramError(f"{arguments[0]}: {error.strerror}") from error
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-5:]
        raise ProgramError(f"{' '.join(arguments)}: exit code "
                           f"{done.returncode}\n" + "\n".join(last))
    return done.stdout


def parsed(text, arguments):
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ProgramError(f"{arguments[0]} printed no JSON: {error}") from error


def model_path():
    return output_of([ROOT / "tools/fetch-model"]).strip()


def requantised(quantize, model, folder):
    """The file in Q4_0, which llama.cpp repacks; the embedding (which is the
    head too) stays Q8_0 as it is. Made once."""
    name = pathlib.Path(model).name.replace("Q4_1", "Q4_0")
    if name == pathlib.Path(model).name:
        raise ProgramError(f"{model}: no Q4_1 in its name; use --q4-0 FILE")
    file = pathlib.Path(folder) / name
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        output_of([quantize, "--allow-requantize", "--token-embedding-type",
                   "q8_0", model, part, "Q4_0"])
        part.rename(file)
    return str(file)


def vouch_in_process(program, model, threads, depth, tokens, sequences,
                     prompt=1):
    """Greedy sequences in lockstep through the executor, from a context of
    `depth` tokens; and one prompt. Once each, after a run that is dropped."""
    arguments = [program, "bench", model, "--json", "--repeat", 1,
                 "--only", "prefill,decode", "--threads", threads,
                 "--prompt", prompt, "--depth", depth, "--tokens", tokens,
                 "--batches", sequences]
    entry = parsed(output_of(arguments), arguments)
    return {part: entry[part][0]["tok_s"]["median"]
            for part in ("prefill", "decode")}


def llama_bench(program, model, threads, prompt, tokens):
    """`prompt` tokens at once, then separately `tokens` one by one."""
    arguments = [program, "-m", model, "-t", threads, "-p", prompt, "-n",
                 tokens, "-r", 1, "-o", "json"]
    rates = {}
    for entry in parsed(output_of(arguments), arguments):
        rates["prefill" if entry["n_prompt"] else "decode"] = entry["avg_ts"]
    return rates


def llama_batched_bench(program, model, threads, prompt, tokens, sequences):
    """Own prompts, all computed before all sequences generate together."""
    context = sequences * (prompt + tokens)
    arguments = [program, "-m", model, "-t", threads, "-c", context, "-npp",
                 prompt, "-ntg", tokens, "-npl", sequences, "--output-format",
                 "jsonl"]
    lines = [line for line in output_of(arguments).splitlines()
             if line.startswith("{")]
    if len(lines) != 1:
        raise ProgramError(f"{program} printed {len(lines)} results, not one")
    entry = parsed(lines[0], arguments)
    return {"prefill": entry["speed_pp"], "decode": entry["speed_tg"]}
