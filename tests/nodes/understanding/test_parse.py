"""Whatever a model says about a question, something usable comes out of it."""

import pytest

from headrace.nodes.understanding.parse import parse_understanding

QUERY = "那2021年呢？"


@pytest.mark.parametrize(
    "answer",
    [
        '{"rewrite_query": "2021年的营业额？", "intent": "kb_search", "uses_history": true}',
        '```json\n{"rewrite_query": "2021年的营业额？", "intent": "kb_search"}\n```',
        '好的，结果如下：{"rewrite_query": "2021年的营业额？", "intent": "kb_search",} 希望有帮助',
        '{"query": "2021年的营业额？", "intent_type": "KB-Search"}',
        '{"rewritten_query": "2021年的营业额？", "intention": "kb search"}',
        '{"question": "2021年的营业额？", "intent": "something new"}',
        "{'rewrite_query': '2021年的营业额？', 'intent': 'kb_search'}",
        'first {broken} then {"rewrite_query": "2021年的营业额？", "intent": "kb_search"}',
    ],
)
def test_json_in_any_wrapping_is_read(answer: str) -> None:
    understood = parse_understanding(answer, QUERY)
    assert understood is not None
    assert (understood.rewritten, understood.intent) == ("2021年的营业额？", "kb_search")
    assert understood.uses_history is True


@pytest.mark.parametrize(
    "answer", ["", "I cannot help with that.", "{}", "[1, 2]", '{"other": 1}', "{{{{", "}{"]
)
def test_what_cannot_be_read_is_nothing(answer: str) -> None:
    assert parse_understanding(answer, QUERY) is None


@pytest.mark.parametrize("rewrite", ["", "  ", "x" * 1000])
def test_a_rewrite_that_is_empty_or_out_of_proportion_is_discarded(rewrite: str) -> None:
    understood = parse_understanding(f'{{"rewrite_query": "{rewrite}", "intent": "greeting"}}', QUERY)
    assert understood is not None
    assert (understood.rewritten, understood.intent, understood.uses_history) == (QUERY, "greeting", False)


def test_the_model_s_word_on_history_counts() -> None:
    understood = parse_understanding('{"rewrite_query": "Other words", "uses_history": false}', QUERY)
    assert understood is not None
    assert understood.uses_history is False
