"""A GLiNER model of a few kilobytes with weights by chance, made by the package itself: all of the way, no sense."""

from __future__ import annotations

import os
import string
from pathlib import Path


def make(folder: Path) -> Path:
    """Write the model into a folder, with its tokenizer."""
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1")
    import torch  # noqa: PLC0415 - the extra may not be installed
    from gliner import GLiNER, GLiNERConfig  # noqa: PLC0415
    from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: PLC0415
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast  # noqa: PLC0415

    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    letters = string.ascii_letters + string.digits + string.punctuation
    words = [*special.values(), *letters, *(f"##{letter}" for letter in letters)]
    tokenizer = Tokenizer(models.WordPiece({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)
    torch.manual_seed(1)
    encoder = BertConfig(
        vocab_size=len(words) + 8, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    BertModel(encoder).save_pretrained(folder)
    config = GLiNERConfig(
        model_name=str(folder), hidden_size=32, max_width=4, encoder_config=encoder.to_dict(), dropout=0.0
    )
    GLiNER.from_config(config).save_pretrained(str(folder))
    return folder
