import argparse
from pathlib import Path

import pytest

from headrace.cli.assignments import assignment, json_or_text, text_or_file
from headrace.errors import HeadraceError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", 0.1),
        ("10", 10),
        ("true", True),
        ("null", None),
        ('"12"', "12"),
        ('["c1", "年假"]', ["c1", "年假"]),
        ("没有找到", "没有找到"),
        ("True", "True"),
        ("", ""),
        ("[1", "[1"),
        ("NaN", "NaN"),
        ("-Infinity", "-Infinity"),
        ("1e999", "1e999"),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_a_value_is_json_where_it_is_json_and_else_text(text: str, value: object) -> None:
    assert json_or_text(text) == value


def test_only_the_first_equals_sign_parts_name_and_value() -> None:
    assert assignment("--set a=1")("fallback_response=a=b 是") == ("fallback_response", "a=b 是")


@pytest.mark.parametrize("text", ["rerank_threshold", "=0.1", " =0.1", "温度"])
def test_without_a_name_and_an_equals_sign_an_example_is_shown(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="an example: --set a=1"):
        assignment("--set a=1")(text)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="UTF-8"):
        assignment("--set a=1")("a=\udcff")


def test_an_at_sign_reads_a_file(tmp_path: Path) -> None:
    (tmp_path / "提示.txt").write_text("只用资料回答。\nCite.", "utf-8")
    assert text_or_file(f"@{tmp_path / '提示.txt'}") == "只用资料回答。\nCite."
    assert text_or_file("用一句话 @home") == "用一句话 @home"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "gbk.txt").write_bytes("提示".encode("gbk"))
    for name in ("没有.txt", "gbk.txt", "."):
        with pytest.raises(HeadraceError, match=str(tmp_path)):
            text_or_file(f"@{tmp_path / name}")
