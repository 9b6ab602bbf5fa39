"""The float32 reference: transformers on the GGUF file's dequantised weights,
by way of tools/golden/make_smollm2.py; needs torch, transformers, tokenizers
and gguf."""

import pathlib
import sys

import gguf
import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools/golden"))

import make_smollm2  # noqa: E402


class Reference:
    def __init__(self, file, threads):
        torch.set_num_threads(threads)
        reader = gguf.GGUFReader(str(file))
        self._tokenizer = make_smollm2.make_tokenizer(reader)
        self._model = make_smollm2.make_model(reader)
        self.vocabulary = self._model.config.vocab_size

    def tokens(self, text):
        """Special tokens are recognised, none is added."""
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    @torch.no_grad()
    def rows(self, tokens):
        """float32 [tokens][vocabulary]."""
        return self._model(torch.tensor([tokens])).logits[0].float().numpy()
