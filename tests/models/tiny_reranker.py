"""A tiny cross-encoder in FlashRank's folder format: what share of the query's words a passage has."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")  # tokens 0 to 3
STEEPNESS = 8.0  # logits from -4 for no word to 4 for all of them

WORDS = (
    "年 假 十 天 发 票 差 旅 报 销 how many days of annual sick leave do i get travel expenses invoice ten"
)


def write_model(folder: Path, *, words: str = WORDS, columns: int = 1) -> Path:
    """Write the model into `folder`. `columns`: 1 for a logit, 2 for one of no and one of yes."""
    folder.mkdir(parents=True)
    vocabulary = {word: n for n, word in enumerate([*SPECIAL, *dict.fromkeys(words.split())])}
    _tokenizer(vocabulary).save(str(folder / "tokenizer.json"))
    _write(folder / "config.json", {"pad_token_id": 0})
    _write(folder / "tokenizer_config.json", {"model_max_length": 64, "pad_token": "[PAD]"})
    _write(folder / "special_tokens_map.json", {"unk_token": "[UNK]", "sep_token": {"content": "[SEP]"}})
    onnx.save(_graph(columns), str(folder / "overlap.onnx"))
    return folder


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content), "utf-8")


def _tokenizer(vocabulary: dict[str, int]) -> Any:
    tokenizer: Any = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return tokenizer


def _graph(columns: int) -> Any:
    """The share of the first segment's tokens that the second one has too; special tokens are none."""
    steps: list[Any] = [
        ("Greater", ["input_ids", "last_special"], "known"),
        ("Cast", ["known"], "word", {"to": TensorProto.FLOAT}),
        ("Cast", ["token_type_ids"], "second", {"to": TensorProto.FLOAT}),
        ("Cast", ["attention_mask"], "attended", {"to": TensorProto.FLOAT}),
        ("Mul", ["word", "attended"], "real"),
        ("Mul", ["real", "second"], "of_passage"),
        ("Sub", ["real", "of_passage"], "of_query"),
        ("Unsqueeze", ["input_ids", "two"], "down"),
        ("Unsqueeze", ["input_ids", "one"], "across"),
        ("Equal", ["down", "across"], "same"),
        ("Cast", ["same"], "alike", {"to": TensorProto.FLOAT}),
        ("Unsqueeze", ["of_passage", "one"], "passage_across"),
        ("Mul", ["alike", "passage_across"], "found_at"),
        ("ReduceMax", ["found_at"], "found", {"axes": [2], "keepdims": 0}),
        ("Mul", ["found", "of_query"], "found_words"),
        ("ReduceSum", ["found_words", "one"], "count", {"keepdims": 1}),
        ("ReduceSum", ["of_query", "one"], "all", {"keepdims": 1}),
        ("Max", ["all", "least"], "divisor"),
        ("Div", ["count", "divisor"], "share"),
        ("Sub", ["share", "half"], "centred"),
        ("Mul", ["centred", "steepness"], "logit"),
        ("Neg", ["logit"], "against"),
        ("Concat", ["against", "logit"], "both", {"axis": 1}),
    ]
    nodes = [
        helper.make_node(op, given, [made], **cast("Any", more[0] if more else {}))
        for op, given, made, *more in steps
    ]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    name = "logit" if columns == 1 else "both"
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", columns])]
    constants: Sequence[Any] = [
        _constant("last_special", 3),
        _constant("one", [1]),
        _constant("two", [2]),
        _constant("least", 1.0),
        _constant("half", 0.5),
        _constant("steepness", STEEPNESS),
    ]
    graph = helper.make_graph(nodes, "overlap", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _constant(name: str, value: object) -> Any:
    array = np.array(value)
    return numpy_helper.from_array(array.astype(np.float32 if array.dtype.kind == "f" else np.int64), name)
