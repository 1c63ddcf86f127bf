"""Writes tiny.gguf and eos.gguf: llama with 2 layers of 64, 306 tokens, context 512, random weights. The second ends every answer at once."""

import sys
from pathlib import Path

import gguf
import numpy as np

WIDTH, HEADS, FORWARD, LAYERS, CONTEXT = 64, 4, 128, 2, 512
WORDS = "hello world the cat sat on mat of good days and a one two three four is it in to".split()
TEMPLATE = (
    "{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '\\n' }}{% endfor %}assistant:"
)


def vocabulary():
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    tokens += ["▁" + word for word in WORDS] + list("abcdefghijklmnopqrstuvwxyz▁")
    tokens = tokens[:306]
    normal = len(tokens) - 259
    scores = [0.0] * 259 + [-float(index) for index in range(normal)]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
    kinds += [gguf.TokenType.BYTE] * 256 + [gguf.TokenType.NORMAL] * normal
    return tokens, scores, kinds


def write(path, ends_at_once):
    tokens, scores, kinds = vocabulary()
    random = np.random.default_rng(7)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(kinds)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)

    def tensor(name, *shape):
        values = random.normal(0, 0.3, shape).astype(np.float32)
        # The first place of the hidden state stays constant through all layers, and the logit of </s> is made of it.
        if ends_at_once and name == "token_embd.weight":
            values[:, 0] = 10
        if ends_at_once and name.endswith(("attn_output.weight", "ffn_down.weight")):
            values[0, :] = 0
        if ends_at_once and name == "output.weight":
            values[2, 0] = 100
        writer.add_tensor(name, values)

    tensor("token_embd.weight", len(tokens), WIDTH)
    for layer in range(LAYERS):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensor(f"blk.{layer}.{name}.weight", WIDTH, WIDTH)
        for name in ("ffn_gate", "ffn_up"):
            tensor(f"blk.{layer}.{name}.weight", FORWARD, WIDTH)
        tensor(f"blk.{layer}.ffn_down.weight", WIDTH, FORWARD)
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(WIDTH, np.float32))
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    tensor("output.weight", len(tokens), WIDTH)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


folder = Path(sys.argv[1])
write(folder / "tiny.gguf", ends_at_once=False)
write(folder / "eos.gguf", ends_at_once=True)
