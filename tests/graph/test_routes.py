"""Each route, from the smallest state that decides it."""

from typing import Any

import pytest

from headrace.graph.routes import route_evidence, route_intent, route_results, route_scope
from headrace.state import Intent

from ..fakes import a_hit, asked


def test_without_anything_to_retrieve_from_nothing_is_understood() -> None:
    assert route_scope({"request": asked(kb_ids=[])}) == "assemble_context"


@pytest.mark.parametrize("scope", [{"kb_ids": ["kb1"]}, {"kb_ids": [], "document_ids": ["doc1"]}])
def test_a_scope_of_knowledge_bases_or_documents_is_enough(scope: dict[str, Any]) -> None:
    assert route_scope({"request": asked(**scope)}) == "match_ready_answer"


@pytest.mark.parametrize("intent", ["kb_search", "summarize", "clarification", "web_search"])
def test_intents_that_need_documents_are_searched(intent: Intent) -> None:
    assert route_intent({"request": asked(), "intent": intent}) == "search_chunks"


def test_an_unknown_intent_is_searched() -> None:
    assert route_intent({"request": asked()}) == "search_chunks"


@pytest.mark.parametrize("intent", ["greeting", "chitchat", "follow_up", "doc_only"])
def test_intents_that_need_no_documents_go_straight_to_the_model(intent: Intent) -> None:
    assert route_intent({"request": asked(), "intent": intent}) == "assemble_context"


def test_nothing_found_falls_back() -> None:
    assert route_results({"request": asked(), "hits": []}) == "fallback"
    assert route_results({"request": asked(), "hits": [a_hit()]}) == "rerank"


def test_everything_rejected_falls_back() -> None:
    assert route_evidence({"request": asked(), "ranked": []}) == "fallback"
    assert route_evidence({"request": asked(), "ranked": [a_hit()]}) == "boost_wiki"
