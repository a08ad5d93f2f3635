from pathlib import Path

import pytest

from headrace.errors import BadRequest, StartRefused
from headrace.settings import effective_knobs, load_settings


def test_the_environment_wins_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "headrace.toml").write_text('rerank_top_k = 7\nfallback_response = "没有找到"\n', "utf-8")
    monkeypatch.setenv("HEADRACE_RERANK_TOP_K", "9")
    settings = load_settings(data=tmp_path)
    assert (settings.rerank_top_k, settings.fallback_response) == (9, "没有找到")


def test_hosts_are_listed_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_ALLOWED_HOSTS", "docs.example, 文档.example")
    assert load_settings().allowed_hosts == ["docs.example", "文档.example"]


@pytest.mark.parametrize("content", ["x = [", "rerank_top_k = 0", "\udcff"])
def test_a_bad_settings_file_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "headrace.toml").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(StartRefused):
        load_settings(data=tmp_path)


def test_a_settings_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(StartRefused, match=r"none\.toml"):
        load_settings(config=tmp_path / "none.toml")


def test_the_question_wins_over_knowledge_bases_which_win_where_they_agree() -> None:
    defaults = load_settings().knobs()
    kbs = [{"rerank_top_k": 3, "max_rounds": 1}, {"rerank_top_k": 3, "max_rounds": 2}]
    knobs = effective_knobs(defaults, kbs, {"partial_ok": True})
    assert (knobs.rerank_top_k, knobs.max_rounds, knobs.partial_ok) == (3, defaults.max_rounds, True)
    assert effective_knobs(defaults, kbs, {"rerank_top_k": 5}).rerank_top_k == 5


def test_an_unknown_setting_is_named() -> None:
    with pytest.raises(BadRequest, match="nonsense"):
        effective_knobs(load_settings().knobs(), [], {"nonsense": 1})
