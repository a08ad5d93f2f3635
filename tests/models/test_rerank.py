"""Which reranker there is, by the settings and by what lies on disk."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import StartRefused
from headrace.models.model_folders import NEEDED
from headrace.models.rerank import make_reranker, rerank_kind
from headrace.models.rerank_dashscope import DashScopeReranker
from headrace.models.rerank_http import HttpReranker
from headrace.models.rerank_listwise import ListwiseReranker
from headrace.settings import Settings, load_settings

from ..fakes import PROMPTS, ScriptedChat

pytestmark = pytest.mark.anyio

SERVER = {"rerank_base_url": "http://127.0.0.1:9", "rerank_model": "bge-reranker"}
SMALL, LARGE = "ms-marco-TinyBERT-L-2-v2", "ms-marco-MultiBERT-L-12"


def settings(folder: Path, **given: Any) -> Settings:
    return load_settings(data=folder, **given)


def a_folder(data: Path, name: str, *, lacking: Sequence[str] = ()) -> None:
    folder = data / "models" / "flashrank" / name
    folder.mkdir(parents=True)
    for file in {*NEEDED, "model.onnx"} - {*lacking}:
        (folder / file).write_bytes(b"{}")


def test_without_any_setting_or_model_there_is_none(tmp_path: Path) -> None:
    assert rerank_kind(settings(tmp_path)) == "none"
    assert make_reranker(settings(tmp_path)) is None


async def test_a_server_is_used_where_its_address_is_set(tmp_path: Path) -> None:
    made = make_reranker(settings(tmp_path, **SERVER))
    assert isinstance(made, HttpReranker)
    assert made.name == "bge-reranker"
    await made.aclose()


async def test_each_kind_can_be_named(tmp_path: Path) -> None:
    made = make_reranker(settings(tmp_path, rerank="dashscope", **SERVER))
    assert isinstance(made, DashScopeReranker)
    await made.aclose()
    chat = ScriptedChat(["x"], name="qwen")
    listwise = make_reranker(settings(tmp_path, rerank="llm"), chat=chat, prompts=PROMPTS)
    assert isinstance(listwise, ListwiseReranker)
    assert listwise.name == "qwen"
    assert make_reranker(settings(tmp_path, rerank="none", **SERVER)) is None


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"rerank": "http"}, "HEADRACE_RERANK_BASE_URL"),
        ({"rerank": "dashscope"}, "HEADRACE_RERANK_BASE_URL"),
        ({"rerank": "dashscope", "rerank_base_url": "http://127.0.0.1:9"}, "HEADRACE_RERANK_MODEL"),
        ({"rerank": "llm"}, "needs a chat model"),
        ({"rerank": "best"}, "rerank: Input should be 'auto'"),
    ],
)
def test_what_cannot_be_had_is_refused_with_what_to_set(
    tmp_path: Path, given: dict[str, Any], says: str
) -> None:
    with pytest.raises(StartRefused, match=says):
        make_reranker(settings(tmp_path, **given))


def test_a_model_that_only_quotes_cannot_order_passages(tmp_path: Path) -> None:
    quoting = ScriptedChat(["x"], generates=False)
    with pytest.raises(StartRefused, match="needs a chat model"):
        make_reranker(settings(tmp_path, rerank="llm"), chat=quoting, prompts=PROMPTS)


def named(made: object) -> str | None:
    return getattr(made, "name", None)


def test_a_model_on_disk_is_used_and_of_several_the_one_for_both_languages(tmp_path: Path) -> None:
    pytest.importorskip("flashrank", reason="the extra `rerank` is not installed")
    a_folder(tmp_path, SMALL)
    assert named(make_reranker(settings(tmp_path))) == SMALL
    a_folder(tmp_path, LARGE)
    assert named(make_reranker(settings(tmp_path))) == LARGE
    assert named(make_reranker(settings(tmp_path, rerank_model=SMALL))) == SMALL
    other = settings(tmp_path / "other", models=tmp_path / "models")
    assert named(make_reranker(other)) == LARGE


def test_a_model_that_is_not_whole_is_passed_over_unless_it_is_named(tmp_path: Path) -> None:
    pytest.importorskip("flashrank", reason="the extra `rerank` is not installed")
    a_folder(tmp_path, LARGE, lacking=["tokenizer.json"])
    assert make_reranker(settings(tmp_path)) is None
    with pytest.raises(StartRefused, match=r"lacks tokenizer\.json"):
        make_reranker(settings(tmp_path, rerank="flashrank", rerank_model=LARGE))


def test_without_the_model_it_is_said_which_file_goes_where(tmp_path: Path) -> None:
    pytest.importorskip("flashrank", reason="the extra `rerank` is not installed")
    with pytest.raises(StartRefused, match=f"models pull {SMALL}.*unpack {SMALL}.zip there"):
        make_reranker(settings(tmp_path, rerank="flashrank", rerank_model=SMALL))
