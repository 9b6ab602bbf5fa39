"""Makes tests/fixtures/llama_tiny (a complete servable model: random weights,
byte-level BPE tokenizer, ChatML template) and tests/fixtures/llama_tiny.gguf
(the same model as one GGUF file, matrices in Q8_0).

Run from the repository root, with transformers, tokenizers and gguf installed:

    python tools/golden/make_llama_tiny.py
"""

import json
import pathlib

import gguf
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM

import llama_gguf

FIXTURES = pathlib.Path(__file__).parents[2] / "tests" / "fixtures"

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TOKENIZER_SIZE = 300
# Rows past the tokenizer's ids, as padded vocabularies have them.
VOCABULARY_SIZE = 320

TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] "
    "+ '<|im_end|>' + '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")

# What the merges are learned from.
TEXT = """
The server takes requests from many clients and computes them together. Every
step mixes rows of several sequences, and the text of each of them is the text
that it would have been alone. user system assistant the and then there here
What is the weather like in the morning? One, two, three and four. Hello!
"""


def make_tokenizer(folder):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=TOKENIZER_SIZE, special_tokens=SPECIAL, show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.train_from_iterator(TEXT.splitlines(), trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "add_bos_token": False,
        "add_prefix_space": False,
        "bos_token": "<|im_start|>",
        "chat_template": TEMPLATE,
        "clean_up_tokenization_spaces": False,
        "eos_token": "<|im_end|>",
        "model_max_length": 512,
        "pad_token": "<|im_end|>",
        "tokenizer_class": "GPT2Tokenizer",
        "unk_token": "<|endoftext|>",
    }
    (folder / "tokenizer_config.json").write_text(
        json.dumps(config, indent=2) + "\n")
    return tokenizer


def make_model():
    torch.manual_seed(20)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=VOCABULARY_SIZE, hidden_size=64, intermediate_size=128,
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        head_dim=16, max_position_embeddings=512, rms_norm_eps=1e-5,
        tie_word_embeddings=True, initializer_range=0.15,
        bos_token_id=1, eos_token_id=2, pad_token_id=2))
    llama_gguf.randomise(model)
    return model.to(torch.bfloat16)


def write_gguf(path, model, tokenizer):
    writer = llama_gguf.new_writer(path, model.config, "Llama Tiny")
    vocabulary = tokenizer.get_vocab()
    tokens = sorted(vocabulary, key=vocabulary.get)
    # Rows past the tokenizer's ids are "unused" (5) to GGUF.
    tokens += [f"[PAD{i}]" for i in range(len(tokens), VOCABULARY_SIZE)]
    kinds = [3 if t in SPECIAL else 5 if t.startswith("[PAD") else 1
             for t in tokens]
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(
        [m if isinstance(m, str) else " ".join(m) for m in merges])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)
    llama_gguf.add_tensors(writer, model, gguf.GGMLQuantizationType.Q8_0)
    llama_gguf.close(writer)


def main():
    folder = FIXTURES / "llama_tiny"
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = make_tokenizer(folder)
    model = make_model()
    model.save_pretrained(folder)
    (folder / "generation_config.json").write_text(json.dumps({
        "bos_token_id": 1,
        "eos_token_id": [2, 0],
        "pad_token_id": 2,
    }, indent=2) + "\n")
    write_gguf(FIXTURES / "llama_tiny.gguf", model, tokenizer)


if __name__ == "__main__":
    main()
