"""The sample questions, asked of the real pipeline without any key or server."""

import json
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ..running import API, a_client, a_kb, a_session, add, answer_of, ask, data, running

pytestmark = pytest.mark.integration

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
QUESTIONS = [json.loads(line) for line in (EXAMPLES / "questions.jsonl").read_text("utf-8").splitlines()]
# All 14 Chinese and 12 of the 14 English ones are right. Two English ones are answered in Chinese documents:
# the sentence that answers is not the nearest one there by the embedding model.
RIGHT_AT_LEAST = {"zh": 13, "en": 11}

Samples = tuple[httpx.Client, str]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Generator[Samples]:
    with running(tmp_path_factory.mktemp("samples")) as url, a_client(url) as client:
        kb = a_kb(client, "samples")
        for path in sorted((EXAMPLES / "documents").iterdir()):
            assert add(client, kb, path.name, path.read_bytes())["status"] == "ready"
        yield client, kb


@pytest.mark.parametrize("language", ["zh", "en"])
def test_most_sample_questions_get_a_right_and_cited_answer(samples: Samples, language: str) -> None:
    asked = [question for question in QUESTIONS if question["lang"] == language]
    wrong = [question["id"] for question in asked if not _is_right(samples, question)]
    assert len(asked) - len(wrong) >= RIGHT_AT_LEAST[language], wrong


def test_a_question_that_the_documents_do_not_answer_is_declined(samples: Samples) -> None:
    client, kb = samples
    for question in QUESTIONS:
        if not question["answers"]:
            events = ask(client, a_session(client, kb), question["question"])
            assert events[-1]["data"]["outcome"] in ("declined", "fallback"), question["id"]


def test_a_citation_in_a_pdf_names_the_page(samples: Samples) -> None:
    client, kb = samples
    question = next(question for question in QUESTIONS if question["id"] == "en-fault-code")
    answer = answer_of(ask(client, a_session(client, kb), question["question"]))
    assert f'page="{question["page"]}"' in answer


def _is_right(samples: Samples, question: dict[str, Any]) -> bool:
    client, kb = samples
    session = a_session(client, kb)
    for turn in question.get("history", []):
        if turn["role"] == "user":
            ask(client, session, turn["text"])
    ask(client, session, question["question"])
    (*_, message) = data(client.get(f"{API}/sessions/{session}/messages"))
    cited = set(re.findall(r'chunk_id="([^"]+)"', message["content"]))
    titles = {
        reference["knowledge_title"]
        for reference in message["knowledge_references"]
        if reference["id"] in cited
    }
    if not question["answers"]:
        return not cited
    answer = "".join(message["content"].split())
    found = any("".join(expected.split()) in answer for expected in question["answers"])
    return found and question["document"] in titles
