"""What the Llama golden makers share: random weights that hide no bug, and
GGUF files written from a transformers model."""

import gguf
import numpy
import torch


def randomise(model):
    """Norm weights and biases start as ones and zeros, which would hide a
    forgotten one. Every value becomes one that bfloat16 holds exactly."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("norm.weight"):
                parameter.copy_(1 + 0.3 * torch.randn_like(parameter))
            elif name.endswith(".bias"):
                parameter.copy_(0.3 * torch.randn_like(parameter))
            parameter.copy_(parameter.to(torch.bfloat16).to(parameter.dtype))


def rope_parameters(config):
    return getattr(config, "rope_parameters", None) or {}


def new_writer(path, config, name):
    """A writer with the metadata of a Llama-family file."""
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name(name)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(rope_parameters(config).get("rope_theta", 1e4))
    writer.add_vocab_size(config.vocab_size)
    return writer


NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def gguf_name(name):
    stem, kind = name.rsplit(".", 1)
    if stem in NAMES:
        return f"{NAMES[stem]}.{kind}"
    _, _, layer, rest = stem.split(".", 3)
    return f"blk.{layer}.{NAMES[rest]}.{kind}"


def permute(rows, heads):
    """Row (2j + s) of a head is its old row (s * D/2 + j): the order in which
    GGUF's llama files keep the rows of Q and K."""
    dimension = rows.shape[0] // heads
    split = rows.reshape(heads, 2, dimension // 2, *rows.shape[1:])
    return split.swapaxes(1, 2).reshape(rows.shape)


def weights(model):
    """GGUF name -> float32 array in GGUF's row order."""
    config, result = model.config, {}
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        array = tensor.detach().float().numpy()
        if ".q_proj." in name:
            array = permute(array, config.num_attention_heads)
        if ".k_proj." in name:
            array = permute(array, config.num_key_value_heads)
        result[gguf_name(name)] = numpy.ascontiguousarray(array)
    return result


def add_tensors(writer, model, kind):
    """Matrices in `kind`, everything else in F32. Returns what the stored
    matrices stand for: GGUF name -> float32 array."""
    stored = {}
    for name, array in weights(model).items():
        if array.ndim == 1:
            writer.add_tensor(name, array)
            stored[name] = array
            continue
        blocks = gguf.quants.quantize(array, kind)
        writer.add_tensor(name, blocks, raw_dtype=kind)
        stored[name] = gguf.quants.dequantize(blocks, kind).reshape(array.shape)
    return stored


def close(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def load_back(model, stored):
    """Puts dequantised arrays (GGUF names and order) into the model."""
    config, state = model.config, model.state_dict()
    for name in state:
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        array = stored[gguf_name(name)]
        heads = {".q_proj.": config.num_attention_heads,
                 ".k_proj.": config.num_key_value_heads}
        for part, count in heads.items():
            if part in name:
                dimension = array.shape[0] // count
                split = array.reshape(count, dimension // 2, 2,
                                      *array.shape[1:])
                array = split.swapaxes(1, 2).reshape(array.shape)
        state[name] = torch.from_numpy(numpy.array(array))
    if config.tie_word_embeddings:
        state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model.load_state_dict(state)
