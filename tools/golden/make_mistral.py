"""Makes tests/fixtures/mistral_golden: a tiny random Mistral checkpoint without
a sliding window, shaped as Mistral Nemo is (heads * head_dim is not the hidden
size), and the logits that transformers computes for it on the CPU in float32
(logits.f32: [tokens][vocabulary], little-endian) from the tokens of
tests/fixtures/llama_golden/tokens.json.

Run from the repository root, with transformers installed:

    python tools/golden/make_mistral.py
"""

import json
import pathlib
import shutil

import torch
from transformers import MistralConfig, MistralForCausalLM

import llama_gguf

FIXTURES = pathlib.Path(__file__).parents[2] / "tests" / "fixtures"
OUT = FIXTURES / "mistral_golden"


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    tokens = json.loads((FIXTURES / "llama_golden" / "tokens.json").read_text())
    config = MistralConfig(
        vocab_size=256, hidden_size=80, intermediate_size=96,
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        head_dim=16, max_position_embeddings=128, rms_norm_eps=1e-5,
        tie_word_embeddings=False, initializer_range=0.15,
        sliding_window=None, bos_token_id=1, eos_token_id=2,
        rope_parameters={"rope_type": "default", "rope_theta": 1000000.0})
    torch.manual_seed(21)
    model = MistralForCausalLM._from_config(config,
                                            attn_implementation="eager")
    llama_gguf.randomise(model)
    with torch.no_grad():
        logits = model.eval()(torch.tensor([tokens])).logits[0]
    (OUT / "logits.f32").write_bytes(
        logits.float().numpy().astype("<f4").tobytes())
    # Every weight is one that bfloat16 holds exactly.
    model.to(torch.bfloat16).save_pretrained(OUT)
    (OUT / "generation_config.json").unlink(missing_ok=True)
    for file in OUT.iterdir():
        file.chmod(0o644)


if __name__ == "__main__":
    main()
