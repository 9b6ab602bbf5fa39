"""Makes tests/fixtures/llama_golden: tiny random Llama checkpoints, GGUF files
of the same weights, and the logits that transformers computes for them on the
CPU in float32 (NAME.logits.f32: [tokens][vocabulary], little-endian).

Run from the repository root, with transformers and gguf installed:

    python tools/golden/make_llama.py
"""

import json
import pathlib
import shutil

import gguf
import numpy
import torch
from gguf import GGMLQuantizationType as Type
from transformers import LlamaConfig, LlamaForCausalLM

import llama_gguf

OUT = (pathlib.Path(__file__).parents[2] / "tests" / "fixtures" /
       "llama_golden")
TOKENS = 40
VOCABULARY = 256

ROPE = {
    "default": {"rope_type": "default", "rope_theta": 10000.0},
    "linear": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0},
    "llama3": {"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0,
               "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 64},
    "yarn": {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0,
             "original_max_position_embeddings": 32},
}


def new_config(rope, **changes):
    fields = dict(
        vocab_size=VOCABULARY, hidden_size=96, intermediate_size=64,
        num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=2,
        head_dim=16, max_position_embeddings=128, rms_norm_eps=1e-5,
        tie_word_embeddings=True, initializer_range=0.15,
        bos_token_id=1, eos_token_id=2, rope_parameters=ROPE[rope])
    return LlamaConfig(**{**fields, **changes})


def new_model(config, seed):
    torch.manual_seed(seed)
    model = LlamaForCausalLM._from_config(config, attn_implementation="eager")
    llama_gguf.randomise(model)
    return model.eval()


def write_logits(name, model, tokens):
    with torch.no_grad():
        logits = model(torch.tensor([tokens])).logits[0]
    (OUT / f"{name}.logits.f32").write_bytes(
        logits.float().numpy().astype("<f4").tobytes())


def save(model, folder, **options):
    model.save_pretrained(folder, **options)
    (folder / "generation_config.json").unlink(missing_ok=True)
    for file in folder.iterdir():
        file.chmod(0o644)


def with_rope(model, rope):
    """The same weights under another rotary configuration."""
    config = new_config(rope)
    other = LlamaForCausalLM._from_config(config, attn_implementation="eager")
    other.load_state_dict(model.state_dict())
    return other.eval()


def write_gguf(name, model, kind, extra=None):
    writer = llama_gguf.new_writer(OUT / f"{name}.gguf", model.config, name)
    stored = llama_gguf.add_tensors(writer, model, kind)
    for tensor, array in (extra or {}).items():
        writer.add_tensor(tensor, array)
    llama_gguf.close(writer)
    return stored


def llama3_divisors(rope, dimension):
    """rope_freqs.weight as converters write it: what each inverse frequency
    is divided by."""
    result = []
    for i in range(dimension // 2):
        inverse = rope["rope_theta"] ** (-2 * i / dimension)
        length, factor = 2 * numpy.pi / inverse, rope["factor"]
        context = rope["original_max_position_embeddings"]
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        if length < context / high:
            result.append(1.0)
        elif length > context / low:
            result.append(factor)
        else:
            s = (context / length - low) / (high - low)
            result.append(1 / ((1 - s) / factor + s))
    return numpy.array(result, dtype=numpy.float32)


def random_k_blocks(rng, kind, rows, columns):
    """Valid blocks of the K types, which the gguf package reads but does not
    write: random bytes with scales that give weights of about 0.15."""
    _, size = gguf.GGML_QUANT_SIZES[kind]
    count = rows * columns // 256
    raw = rng.integers(0, 256, (count, size), dtype=numpy.uint8)

    def halves(values):
        return values.astype("<f2").view(numpy.uint8).reshape(count, 2)

    if kind == Type.Q6_K:
        raw[:, 208:] = halves(rng.uniform(3e-5, 1.5e-4, count))
    else:
        levels = 15 if kind == Type.Q4_K else 31
        scale = rng.uniform(0.004, 0.009, count) / levels
        raw[:, 0:2] = halves(scale)
        raw[:, 2:4] = halves(scale * levels / 2)
    return raw.reshape(rows, -1)


def write_k_gguf(name, kind, tokens, seed):
    """One layer of hidden size 256. Rows of attn_output (128) are no whole
    number of K blocks, so they fall back to Q8_0, as real files do."""
    config = new_config(
        "default", hidden_size=256, intermediate_size=256,
        num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1,
        head_dim=64)
    model = new_model(config, seed)
    rng = numpy.random.default_rng(seed)
    writer = llama_gguf.new_writer(OUT / f"{name}.gguf", config, name)
    stored = {}
    for tensor, array in llama_gguf.weights(model).items():
        if array.ndim == 1:
            writer.add_tensor(tensor, array)
            stored[tensor] = array
            continue
        fits = array.shape[1] % 256 == 0
        actual = kind if fits else Type.Q8_0
        blocks = (random_k_blocks(rng, kind, *array.shape) if fits
                  else gguf.quants.quantize(array, actual))
        writer.add_tensor(tensor, blocks, raw_dtype=actual)
        stored[tensor] = gguf.quants.dequantize(
            blocks, actual).reshape(array.shape)
    llama_gguf.close(writer)
    llama_gguf.load_back(model, stored)
    write_logits(name, model, tokens)


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    rng = numpy.random.default_rng(7)
    tokens = [int(t) for t in rng.integers(0, VOCABULARY, TOKENS)]
    (OUT / "tokens.json").write_text(json.dumps(tokens) + "\n")

    tied = new_model(new_config("default"), 1)
    save(tied, OUT / "default")
    write_logits("default", tied, tokens)
    for rope in ("linear", "llama3", "yarn"):
        model = with_rope(tied, rope)
        # The weights are those of "default"; only the configuration differs.
        model.config.save_pretrained(OUT / rope)
        write_logits(rope, model, tokens)

    biased = new_model(new_config(
        "default", tie_word_embeddings=False, attention_bias=True,
        mlp_bias=True), 2)
    write_logits("untied_bias", biased, tokens)
    write_gguf("untied_bias", biased, Type.BF16)
    save(biased.to(torch.bfloat16), OUT / "untied_bias", max_shard_size="100KB")

    write_gguf("f32", tied, Type.F32)
    llama3 = with_rope(tied, "llama3")
    write_gguf("llama3", llama3, Type.BF16, {
        "rope_freqs.weight": llama3_divisors(ROPE["llama3"], 16)})
    for kind in (Type.F16, Type.Q8_0, Type.Q4_0, Type.Q4_1, Type.Q5_0,
                 Type.Q5_1):
        name = kind.name.lower()
        stored = write_gguf(name, tied, kind)
        model = with_rope(tied, "default")
        llama_gguf.load_back(model, stored)
        write_logits(name, model, tokens)
    for seed, kind in enumerate((Type.Q4_K, Type.Q5_K, Type.Q6_K), 11):
        write_k_gguf(kind.name.lower(), kind, tokens, seed)


if __name__ == "__main__":
    main()
