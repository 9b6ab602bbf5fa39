"""Makes tests/fixtures/dflash: a tiny random Llama target, tiny random DFlash
drafters of each form for it, and the draft logits that the reference package
(dflash 0.1.0, torch, float32 on the CPU) computes for them, round by round.

    target/          the target
    FORM/config.json, FORM/model.safetensors (or the folder that rounds.json
                     names under "weights")
    FORM/rounds.json the prompt, and per round the block that the target
                     verified, how many drafts it accepted, and the drafts
    FORM/logits.f32  round after round, [block rows][vocabulary], row 0 (the
                     anchor's) included
    *.gguf           some of them as GGUF; "partial" is a GGUF file alone

The target's answers are overwritten so that round r accepts script[r] drafts.
What the package does not compute (an own head over fewer tokens, a Markov head,
values scaled, ...) is put together here from what it does compute.

Run from the repository root, with dflash, transformers and gguf installed:

    python tools/golden/make_dflash.py
"""

import copy
import json
import pathlib
import shutil

import gguf
import numpy
import torch
import torch.nn.functional as F
from dflash import model as reference
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config

OUT = pathlib.Path(__file__).parents[2] / "tests" / "fixtures" / "dflash"
HIDDEN, VOCABULARY, MASK, TARGET_LAYERS = 32, 64, 63, 7
FULL, SLIDING = "full_attention", "sliding_attention"


def exact(tensor):
    """Values that bfloat16 holds exactly."""
    return tensor.to(torch.bfloat16).float()


def randomise(model, seed):
    """Nothing stays at a value that would hide a forgotten operation."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            spread = 0.25 if parameter.ndim > 1 else 0.3
            values = spread * torch.randn_like(parameter)
            if "norm" in name:
                values = values + 1
            if "codebook" in name:
                values = 2 * values
            parameter.copy_(exact(values))


def make_target():
    target = LlamaForCausalLM(LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=HIDDEN, intermediate_size=64,
        num_hidden_layers=TARGET_LAYERS, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, max_position_embeddings=512,
        bos_token_id=1, eos_token_id=2)).float().eval()
    randomise(target, 1)
    with torch.no_grad():
        for table, spread in ((target.model.embed_tokens, 0.2),
                              (target.lm_head, 0.5)):
            table.weight.copy_(exact(spread * torch.randn_like(table.weight)))
    return target


class Scripted(torch.nn.Module):
    """The target, with its logits overwritten so that round r accepts script[r]
    drafts, and with the embedding and the head that the drafter is to use."""

    def __init__(self, target, script, embedding, head):
        super().__init__()
        self.inner, self.script = target, script
        self.config, self.device = target.config, target.device
        self.embedding, self.lm_head = embedding, head
        self.rounds, self.started = [], False

    def get_input_embeddings(self):
        return self.embedding

    def forward(self, ids, **arguments):
        output = self.inner(ids, **arguments)
        if not self.started:
            self.started = True
            return output
        block = ids[0].tolist()
        wanted = self.script[len(self.rounds) % len(self.script)]
        accepted = min(wanted, len(block) - 1)
        logits = torch.full_like(output.logits, -9.0)
        for row, token in enumerate(block):
            follower = block[row + 1] if row + 1 < len(block) else token
            if row >= accepted:
                follower = (follower + 1) % VOCABULARY
            logits[0, row, follower] = 9.0
        output.logits = logits
        self.rounds.append({"block": block, "accepted": accepted})
        return output


class Head(torch.nn.Module):
    """A head over the tokens `ids` alone; the others are never the largest."""

    def __init__(self, weight, ids):
        super().__init__()
        self.weight, self.ids = weight, ids

    def forward(self, hidden):
        logits = torch.full((*hidden.shape[:-1], VOCABULARY), -1e30)
        logits[..., self.ids] = F.linear(hidden, self.weight)
        return logits


def module(weight):
    result = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
    result.weight = torch.nn.Parameter(weight, requires_grad=False)
    return result


def make_config(layers=2, heads=4, kv_heads=2, head_dim=16, block=8, eps=1e-6,
                theta=1e4, types=None, window=None, causal=None, taps=None,
                bias=False, rope=None, hidden=HIDDEN, **extra):
    types = types or [FULL] * layers
    config = Qwen3Config(
        vocab_size=VOCABULARY, hidden_size=hidden, intermediate_size=64,
        num_hidden_layers=layers, num_attention_heads=heads,
        num_key_value_heads=kv_heads, head_dim=head_dim, rms_norm_eps=eps,
        rope_parameters=rope or {"rope_type": "default", "rope_theta": theta},
        layer_types=types, use_sliding_window=SLIDING in types,
        sliding_window=window, max_position_embeddings=512,
        attention_bias=bias, tie_word_embeddings=False)
    config.num_target_layers = TARGET_LAYERS
    config.dflash_config = {"mask_token_id": MASK, "block_size": block, **extra}
    if taps:
        config.dflash_config["target_layer_ids"] = taps
    if causal is not None:
        config.is_causal = causal
    return config


def draft(model, target, script, new, embedding=None, head=None):
    """Runs the package's own loop. Returns the prompt, the rounds, and each
    round's logits of all block rows."""
    hidden, forward = [], model.forward

    def record(*arguments, **named):
        hidden.append(forward(*arguments, **named))
        return hidden[-1]

    model.forward = record
    scripted = Scripted(target, script,
                        embedding or target.get_input_embeddings(),
                        head or target.lm_head)
    torch.manual_seed(7)
    prompt = torch.randint(0, 60, (1, 13))
    reference.dflash_generate(model, scripted, prompt, new, None)
    model.forward = forward
    with torch.no_grad():
        logits = [model.compute_logits(rows.clone(), scripted.lm_head)[0]
                  for rows in hidden]
    assert len(logits) == len(scripted.rounds)
    for entry, rows in zip(scripted.rounds, logits):
        assert len(rows) == len(entry["block"])
        entry["drafts"] = entry["block"][1:]
    return prompt[0].tolist(), scripted.rounds, logits


def write(form, config, prompt, rounds, logits, state=None, weights=None,
          architecture="DFlashDraftModel", **fields):
    folder = OUT / form
    folder.mkdir()
    stored = config.to_dict()
    stored.pop("transformers_version", None)
    stored.update(architectures=[architecture], dtype="bfloat16")
    nested = {**stored["dflash_config"], **fields.pop("dflash_config", {})}
    stored.update(fields, dflash_config=nested)
    stored = {key: value for key, value in stored.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(stored, indent=1) + "\n")
    if state is not None:
        save_file({name: value.to(torch.bfloat16).contiguous()
                   if value.is_floating_point() else value
                   for name, value in state.items()},
                  folder / "model.safetensors")
    description = {"weights": weights or form, "prompt": prompt,
                   "rounds": rounds}
    text = json.dumps(description)
    (folder / "rounds.json").write_text(text.replace("}, {", "},\n{") + "\n")
    values = torch.cat(logits).float().numpy().astype("<f4")
    (folder / "logits.f32").write_bytes(values.tobytes())


def largest(logits):
    """The drafts, of which none may be a near tie."""
    top = logits.topk(2, dim=-1).values
    assert (top[:, 0] - top[:, 1]).min() > 1e-3
    return logits.argmax(-1).tolist()


SCRIPT = (0, 1, 3, 99, 2, 99)


def build(config, seed=2, state=None, second=False):
    kind = reference.DFlash2DraftModel if second else reference.DFlashDraftModel
    model = kind(config).float().eval()
    if state is None:
        randomise(model, seed)
    else:
        model.load_state_dict(state)
    return model


def make_plain_forms(target):
    full = build(make_config())
    state = full.state_dict()
    write("full", full.config, *draft(full, target, SCRIPT, 30), state=state)
    for form, new, options in (
            ("causal", 30, dict(causal=True)),
            ("sliding_mixed", 30, dict(types=[SLIDING, FULL], window=6)),
            ("sliding_both", 30, dict(types=[SLIDING] * 2, window=6,
                                      causal=False)),
            ("sliding_wide", 50, dict(types=[SLIDING] * 2, window=20, block=16,
                                      causal=False)),
            ("yarn", 30, dict(rope={"rope_type": "yarn", "rope_theta": 1e4,
                                    "factor": 4.0,
                                    "original_max_position_embeddings": 64})),
            ("scales", 30, dict(input_embedding_scale=3.0,
                                output_multiplier=0.5,
                                final_logit_softcapping=5.0))):
        model = build(make_config(**options), state=state)
        write(form, model.config, *draft(model, target, SCRIPT, new),
              weights="full")
    one = build(make_config(layers=1), seed=3)
    write("one_layer", one.config, *draft(one, target, SCRIPT, 30),
          state=one.state_dict())
    deep = build(make_config(layers=5, heads=2, kv_heads=1, head_dim=32,
                             block=16, taps=[1, 3, 5]), seed=4)
    write("deep", deep.config,
          *draft(deep, target, (0, 1, 7, 99, 3, 15, 2), 60),
          state=deep.state_dict())
    biased = build(make_config(heads=3, kv_heads=3, taps=[5, 0, 2, 4, 3],
                               eps=1e-5, theta=1e6, bias=True), seed=5)
    write("biased", biased.config, *draft(biased, target, SCRIPT, 30),
          state=biased.state_dict())
    return full


def make_second_forms(target):
    extra = dict(conv_kernel_size=2, conv_group_size=8, selector_rank=12,
                 selector_top_k=6)
    model = build(make_config(**extra), seed=6, second=True)
    state = model.state_dict()
    published = {name.replace("codebook.weight", "codebook"): value
                 for name, value in state.items()}
    name = "DFlash2DraftModel"
    write("second", model.config, *draft(model, target, SCRIPT, 30),
          state=published, architecture=name)
    sliding = build(make_config(types=[SLIDING] * 2, window=6, causal=False,
                                **extra), state=state, second=True)
    write("second_sliding", sliding.config,
          *draft(sliding, target, SCRIPT, 30), weights="second",
          architecture=name)
    return model


def interleave(rows, heads):
    """Row s * D/2 + j of a head moves to 2j + s."""
    dimension = rows.shape[0] // heads
    split = rows.reshape(heads, 2, dimension // 2, *rows.shape[1:])
    return split.transpose(1, 2).reshape(rows.shape)


def make_vendor_forms(target, full):
    """Forms of others than the package's authors."""
    config, state = full.config, full.state_dict()
    torch.manual_seed(9)
    table = exact(0.5 * torch.randn(VOCABULARY, HIDDEN))
    head = exact(0.5 * torch.randn(VOCABULARY, HIDDEN))
    own = draft(full, target, SCRIPT, 30, embedding=module(table),
                head=module(head))
    # Names as some checkpoints have them.
    named = {f"model.{name}": value for name, value in state.items()
             if not name.startswith(("fc.", "hidden_norm."))}
    named.update({"encoder.fc.weight": state["fc.weight"],
                  "encoder.output_norm_enc.weight":
                      state["hidden_norm.weight"],
                  "embed_tokens.weight": table, "lm_head.weight": head})
    write("own_ends", config, *own, state=named)

    # Taps narrower than the drafter: only fc meets them.
    width = 48
    wide = reference.DFlashDraftModel(make_config(hidden=width)).float().eval()
    wide.fc = torch.nn.Linear(2 * HIDDEN, width, bias=False)
    randomise(wide, 8)
    ends = [exact(0.5 * torch.randn(VOCABULARY, width)) for _ in range(2)]
    write("own_width", wide.config,
          *draft(wide, target, SCRIPT, 30, embedding=module(ends[0]),
                 head=module(ends[1])),
          state={**wide.state_dict(), "embed_tokens.weight": ends[0],
                 "lm_head.weight": ends[1]},
          target_hidden_size=HIDDEN)

    torch.manual_seed(10)
    ids = torch.randperm(VOCABULARY - 4)[:40].sort().values
    few = draft(full, target, SCRIPT, 30, head=Head(head[ids], ids))
    prompt, rounds, logits = few
    # GGUF's table holds ids, not offsets.
    write_gguf("own_vocabulary.gguf", full,
               extra={"output.weight": head[ids], "d2t": ids})
    write("own_vocabulary", config, prompt, rounds,
          [rows[:, ids] for rows in logits],
          state={**state, "lm_head.weight": head[ids],
                 "d2t": ids - torch.arange(len(ids)),
                 "t2d": torch.isin(torch.arange(VOCABULARY), ids)},
          draft_vocab_size=len(ids))

    mixed = {}
    for name, value in state.items():
        heads = {"q_": 4, "k_": 2}.get(name.split("self_attn.")[-1][:2], 0)
        heads = 1 if heads and "norm" in name else heads
        mixed[name] = interleave(value, heads) if heads else value
    write("interleaved", config, *draft(full, target, SCRIPT, 30), state=mixed,
          is_neox_style=False)

    rank = 5
    before = exact(torch.randn(VOCABULARY, rank))
    after = exact(torch.randn(VOCABULARY, rank))
    prompt, rounds, logits = draft(full, target, SCRIPT, 30)
    for entry, rows in zip(rounds, logits):
        previous, drafts = entry["block"][0], []
        for row in rows:
            row += after @ before[previous]
            previous = largest(row[None])[0]
            drafts.append(previous)
        entry["drafts"] = drafts
    write_gguf("markov.gguf", full, extra={"markov_w1.weight": before,
                                           "markov_w2.weight": after})
    write("markov", config, prompt, rounds, logits,
          state={**state, "markov_head.markov_w1.weight": before,
                 "markov_head.markov_w2.weight": after,
                 "confidence_head.proj.weight": exact(torch.randn(1, HIDDEN)),
                 "confidence_head.proj.bias": torch.zeros(1)},
          architecture="Qwen3DSparkModel",
          dflash_config={"projector_type": "dspark", "markov_rank": rank,
                         "markov_head_type": "vanilla",
                         "enable_confidence_head": True})

    # Values scaled by 1/2: the reference gets halved value weights.
    row = exact(0.5 * torch.randn(HIDDEN))
    masked = target.get_input_embeddings().weight.detach().clone()
    masked[MASK] = row
    halved = {name: value / 2 if ".v_proj." in name else value
              for name, value in state.items()}
    window = build(make_config(types=[SLIDING] * 2, window=6, causal=False),
                   state=halved)
    prompt, rounds, logits = draft(window, target, SCRIPT, 30,
                                   embedding=module(masked))
    write("mask_row", config, prompt, rounds, logits,
          state={**state, "mask_embedding": row},
          layer_types=None, use_sliding_window=None,
          dflash_config={"use_swa": True, "swa_window_size": 6,
                         "attention_value_scale": 0.5})


def make_partial_form(target, state):
    """Half of each head is rotated, as for some targets; GGUF alone says so."""
    config, half = make_config(), 8
    model = build(config, state=state)
    model.rotary_emb = build(make_config(head_dim=half)).rotary_emb
    whole = reference.apply_rotary_pos_emb

    def rotate(query, key, cos, sin):
        parts = whole(query[..., :half], key[..., :half], cos, sin)
        return tuple(torch.cat([part, rest[..., half:]], -1)
                     for part, rest in zip(parts, (query, key)))

    reference.apply_rotary_pos_emb = rotate
    write("partial", config, *draft(model, target, SCRIPT, 30), weights="full")
    reference.apply_rotary_pos_emb = whole
    write_gguf("partial.gguf", model, rotated=half)


GGUF_NAMES = {
    "fc": "fc", "hidden_norm": "enc.output_norm", "norm": "output_norm",
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm", "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "attention_conv.kernel_projection": "attn_conv_proj",
    "mlp_conv.kernel_projection": "ffn_conv_proj",
    "candidate_selector.hidden_projection": "selector_hidden",
    "candidate_selector.predecessor_codebook": "selector_predecessor",
    "candidate_selector.successor_codebook": "selector_successor",
}


def gguf_name(name):
    block = ""
    if name.startswith("layers."):
        _, index, name = name.split(".", 2)
        block = f"blk.{index}."
    if name.endswith("conv.base_kernel"):
        return block + {"attention_conv": "attn", "mlp_conv": "ffn"}[
            name.split(".")[0]] + "_conv_base"
    return block + GGUF_NAMES[name.removesuffix(".weight")] + ".weight"


def write_gguf(name, model, kind=None, rotated=None, extra=None):
    config, taps = model.config, model.target_layer_ids
    writer = gguf.GGUFWriter(str(OUT / name), "dflash")
    writer.add_name(name)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    if rotated:
        writer.add_rope_dimension_count(rotated)
    writer.add_uint32("dflash.block_size", model.block_size)
    writer.add_array("dflash.target_layers", [tap + 1 for tap in taps])
    writer.add_uint32("tokenizer.ggml.mask_token_id", MASK)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([f"t{i}" for i in range(VOCABULARY)])
    for key in ("conv_kernel_size", "conv_group_size", "selector_rank",
                "selector_top_k"):
        if key in config.dflash_config:
            writer.add_uint32(f"dflash.{key}", config.dflash_config[key])
    if SLIDING in config.layer_types:
        writer.add_uint32("dflash.attention.sliding_window",
                          config.sliding_window)
        writer.add_array("dflash.attention.sliding_window_pattern",
                         [kind == SLIDING for kind in config.layer_types])
    for tensor, value in model.state_dict().items():
        array = numpy.ascontiguousarray(value.float().numpy())
        if kind is not None and array.ndim == 2:
            writer.add_tensor(gguf_name(tensor),
                              gguf.quants.quantize(array, kind), raw_dtype=kind)
        else:
            writer.add_tensor(gguf_name(tensor), array)
    for tensor, value in (extra or {}).items():
        writer.add_tensor(tensor, numpy.ascontiguousarray(value.numpy()))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    torch.set_num_threads(1)
    target = make_target()
    copy.deepcopy(target).to(torch.bfloat16).save_pretrained(OUT / "target")
    (OUT / "target" / "generation_config.json").unlink(missing_ok=True)
    full = make_plain_forms(target)
    second = make_second_forms(target)
    make_vendor_forms(target, full)
    make_partial_form(target, full.state_dict())
    write_gguf("full.gguf", full)
    write_gguf("second.gguf", second)
    write_gguf("q8_0.gguf", full, gguf.GGMLQuantizationType.Q8_0)
    sliding = build(make_config(types=[SLIDING, FULL], window=6, causal=False),
                    state=full.state_dict())
    write_gguf("sliding.gguf", sliding)
    for file in OUT.rglob("*"):
        file.chmod(0o755 if file.is_dir() else 0o644)


if __name__ == "__main__":
    main()
