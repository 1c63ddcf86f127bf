"""Writes hf-tiny and hf-eos: LlamaForCausalLM with 2 layers of 64, byte-level BPE, 512 positions, random weights. The second ends at once."""

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TEMPLATE = (
    "{% for message in messages %}{{ message['role'] + ': ' }}{% if message['content'] is string %}{{ message['content'] }}"
    "{% elif message['content'] %}{% for part in message['content'] %}{{ part.get('text', '') }}{% endfor %}{% endif %}{{ '\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
)
TEXT = ["hello world of good days", "the cat sat on the mat", "user: assistant: system: what is the weather in Paris?"] * 20


def tokenizer():
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=384, special_tokens=["<s>", "</s>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    bpe.train_from_iterator(TEXT, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token="<s>", eos_token="</s>", chat_template=TEMPLATE)


def write(folder, ends_at_once):
    torch.manual_seed(7)
    words = tokenizer()
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=512,
        bos_token_id=words.bos_token_id,
        eos_token_id=words.eos_token_id,
        tie_word_embeddings=False,
        initializer_range=0.3,
    )
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        if ends_at_once:
            # The first place of the hidden state stays constant through all layers, and the logit of </s> is made of it.
            model.model.embed_tokens.weight[:, 0] = 10
            for layer in model.model.layers:
                layer.self_attn.o_proj.weight[0, :] = 0
                layer.mlp.down_proj.weight[0, :] = 0
            model.lm_head.weight[words.eos_token_id, 0] = 100
        else:
            # So that it speaks until its cap.
            model.lm_head.weight[words.eos_token_id] = 0
    model.save_pretrained(folder)
    words.save_pretrained(folder)


folder = Path(sys.argv[1])
write(folder / "hf-tiny", ends_at_once=False)
write(folder / "hf-eos", ends_at_once=True)
