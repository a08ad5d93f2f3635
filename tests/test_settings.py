from pathlib import Path

import pytest
from pydantic import SecretStr

from headrace.errors import BadRequest, StartRefused
from headrace.settings import Endpoint, effective_knobs, load_settings


def test_the_environment_wins_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "headrace.toml").write_text('rerank_top_k = 7\nfallback_response = "没有找到"\n', "utf-8")
    monkeypatch.setenv("HEADRACE_RERANK_TOP_K", "9")
    settings = load_settings(data=tmp_path)
    assert (settings.rerank_top_k, settings.fallback_response) == (9, "没有找到")


@pytest.mark.parametrize(
    "asked",
    [
        {"seed": 2**63},
        {"seed": -(10**30)},
        {"max_tokens": 10**30},
        {"max_rounds": -(10**30)},
        {"keyword_threshold": float("inf")},
        {"keyword_threshold": "nan"},
    ],
)
def test_numbers_that_no_checkpoint_or_answer_can_hold_are_refused(asked: dict[str, object]) -> None:
    with pytest.raises(BadRequest, match=next(iter(asked))):
        effective_knobs(load_settings().knobs(), [], asked)


def test_an_unknown_setting_is_answered_with_the_known_ones() -> None:
    with pytest.raises(BadRequest, match=r"unknown setting 'top_k', known are .*rerank_top_k.*max_tokens"):
        effective_knobs(load_settings().knobs(), [], {"top_k": 5})


def test_only_the_first_of_many_faults_are_told_and_long_names_are_cut() -> None:
    with pytest.raises(BadRequest, match="and 95 more") as refused:
        effective_knobs(load_settings().knobs(), [], {f"不存在{number}" * 1000: 1 for number in range(100)})
    assert len(refused.value.message) < 6000


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


@pytest.mark.parametrize(
    "address",
    ["localhost:8080", "http://", "http://user:p4ss/word@host:x/v1", "http://[bad", "http://a b/", "ftp://a"],
)
def test_an_impossible_address_is_refused_by_the_name_of_its_setting_alone(address: str) -> None:
    with pytest.raises(StartRefused, match=r"chat_base_url: .*http://127") as refused:
        load_settings(chat_base_url=address)
    assert "p4ss" not in refused.value.message


@pytest.mark.parametrize("key", ["sk-密钥", "sk-one\nX-Other: two"])
def test_a_key_that_no_header_can_hold_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(StartRefused, match=r"chat_api_key: .*ASCII") as refused:
        load_settings(chat_api_key=key)
    assert "sk-" not in refused.value.message


def test_the_line_break_behind_a_key_from_a_file_is_no_part_of_it() -> None:
    key = load_settings(chat_api_key="sk-one\n").chat_api_key
    assert key is not None
    assert key.get_secret_value() == "sk-one"


def test_an_endpoint_hides_its_secrets_in_what_others_said() -> None:
    endpoint = Endpoint(
        base_url="http://reader:p4ss%2Fword@models.test:81/v1",
        api_key=SecretStr("sk-one"),
        model="m",
        timeout_s=1,
    )
    assert endpoint.address == "http://models.test:81/v1"
    login = "Basic cmVhZGVyOnA0c3Mvd29yZA=="
    said = endpoint.without_secrets(
        f"拒绝 sk-one p4ss/word p4ss%2Fword {login} reader:p4ss%2Fword@models.test:81 /v1"
    )
    assert said == "拒绝 … … … Basic … … /v1"
