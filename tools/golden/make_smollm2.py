"""Makes tests/fixtures/smollm2: what SmolLM2-135M-Instruct, computed by
transformers in float32 from the dequantised weights of the GGUF file, says to a
few prompts. For each of them the 48 tokens that greedy decoding gives, and at
each of those steps the 64 largest logits.

    prompts.json       [{"text", "tokens"}]
    top.ids.i32        [prompts * 48][64], largest first; column 0 is the pick
    top.logits.f32     [prompts * 48][64]

Run from the repository root, with transformers, tokenizers and gguf installed:

    python tools/golden/make_smollm2.py MODEL.gguf
"""

import json
import pathlib
import sys

import gguf
import numpy
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM

import llama_gguf

OUT = pathlib.Path(__file__).parents[2] / "tests" / "fixtures" / "smollm2"
STEPS = 48
TOP = 64

SYSTEM = ("<|im_start|>system\nYou are a helpful AI assistant named SmolLM, "
          "trained by Hugging Face<|im_end|>\n")
LONG = " ".join(
    f"Station {i} lies {3 * i + 2} kilometres from the harbour and opens at "
    f"{6 + i % 4} in the morning." for i in range(14))
PROMPTS = [
    SYSTEM + "<|im_start|>user\nWhat is the capital of France, and what is it "
    "known for?<|im_end|>\n<|im_start|>assistant\n",
    SYSTEM + "<|im_start|>user\nWrite a short poem about the sea.<|im_end|>\n"
    "<|im_start|>assistant\n",
    "The three laws of motion state that",
    "def fibonacci(n):\n    \"\"\"Return the n-th Fibonacci number.\"\"\"\n",
    "Es war einmal ein kleines Mädchen, das lebte am Rande eines Waldes.",
    LONG + " The nearest station is",
]


def make_tokenizer(reader):
    def texts(key):
        field = reader.fields[key]
        return [bytes(field.parts[i]).decode() for i in field.data]

    tokens = texts("tokenizer.ggml.tokens")
    merges = [tuple(m.split(" ")) for m in texts("tokenizer.ggml.merges")]
    field = reader.fields["tokenizer.ggml.token_type"]
    kinds = [int(field.parts[i][0]) for i in field.data]
    tokenizer = Tokenizer(models.BPE(
        vocab={t: i for i, t in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([
        AddedToken(t, special=True, normalized=False)
        for t, kind in zip(tokens, kinds) if kind == 3])
    return tokenizer


def make_model(reader):
    def value(key):
        return reader.fields[key].parts[-1][0].item()

    config = LlamaConfig(
        vocab_size=value("llama.vocab_size"),
        hidden_size=value("llama.embedding_length"),
        intermediate_size=value("llama.feed_forward_length"),
        num_hidden_layers=value("llama.block_count"),
        num_attention_heads=value("llama.attention.head_count"),
        num_key_value_heads=value("llama.attention.head_count_kv"),
        max_position_embeddings=value("llama.context_length"),
        rms_norm_eps=value("llama.attention.layer_norm_rms_epsilon"),
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default",
                         "rope_theta": value("llama.rope.freq_base")})
    model = LlamaForCausalLM._from_config(
        config, dtype=torch.float32, attn_implementation="eager")
    stored = {}
    for tensor in reader.tensors:
        shape = [int(n) for n in reversed(tensor.shape)]
        stored[tensor.name] = gguf.quants.dequantize(
            tensor.data, tensor.tensor_type).reshape(shape)
    llama_gguf.load_back(model, stored)
    return model.eval()


@torch.no_grad()
def continue_greedily(model, tokens):
    """The top logits of each step: ids [STEPS][TOP], values [STEPS][TOP]."""
    ids, values, cache, given = [], [], None, tokens
    for _ in range(STEPS):
        out = model(torch.tensor([given]), past_key_values=cache,
                    use_cache=True, logits_to_keep=1)
        cache = out.past_key_values
        top = out.logits[0, -1].topk(TOP)
        ids.append(top.indices.numpy())
        values.append(top.values.numpy())
        given = [int(top.indices[0])]
    return ids, values


def main():
    reader = gguf.GGUFReader(sys.argv[1])
    tokenizer, model = make_tokenizer(reader), make_model(reader)
    prompts, ids, values = [], [], []
    for text in PROMPTS:
        tokens = tokenizer.encode(text, add_special_tokens=False).ids
        some = continue_greedily(model, tokens)
        ids += some[0]
        values += some[1]
        prompts.append({"text": text, "tokens": tokens})
        picks = [int(row[0]) for row in some[0]]
        print(len(tokens), repr(tokenizer.decode(picks)), flush=True)
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "prompts.json").write_text(
        json.dumps({"prompts": prompts}, ensure_ascii=False) + "\n")
    (OUT / "top.ids.i32").write_bytes(
        numpy.stack(ids).astype("<i4").tobytes())
    (OUT / "top.logits.f32").write_bytes(
        numpy.stack(values).astype("<f4").tobytes())


if __name__ == "__main__":
    main()
