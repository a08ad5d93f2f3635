"""Whoever changes what tokens a text has must say so, or indexes of old and new tokens are mixed."""

import hashlib
from pathlib import Path

from headrace.text.tokens import CHAIN, Tokens

TEXTS = (
    "臺灣的軟體工程師使用資訊系統，員工每年享受带薪年假十天。",
    "Employees' annual leave: 1,234.5 days (see GB/T 5009.3-2016, iPhone15, U.S.A., C++).",
    "ＮＦＫＣ　ﬁne 〇 㐂 𠮷 😀 \u200bzero\u200bwidth مرحبا こんにちは",
    "WHO works for US? It's the running dogs' e-mail_address.",
)


def test_other_tokens_have_another_version() -> None:
    tokens = Tokens()
    made = hashlib.sha256(repr([tokens.index(text) for text in TEXTS]).encode()).hexdigest()[:16]
    assert (CHAIN, made) == (3, "794f22f52108e341"), (
        "raise CHAIN in text/tokens.py, then write both down here"
    )


def test_the_version_tells_of_the_user_dictionary(tmp_path: Path) -> None:
    dictionary = tmp_path / "words.txt"
    dictionary.write_text("引水渠 5 n\n", encoding="utf-8")
    one = Tokens(dictionary).version
    dictionary.write_text("引水渠道 5 n\n", encoding="utf-8")
    assert len({one, Tokens(dictionary).version, Tokens().version}) == 3
    assert Tokens().version == Tokens().version
