"""What is measured with: files of JSON lines, checked row by row (shapes in docs/evaluation.md)."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from ..errors import BadRequest

Id = Annotated[str, Field(min_length=1), BeforeValidator(lambda id: str(id) if isinstance(id, int) else id)]


class CorpusRow(BaseModel):
    """One unit that is found or not."""

    id: Id
    text: str = Field(min_length=1)
    title: str | None = None


class FaqRow(BaseModel):
    """One entry of a bank of questions; any of its phrasings finds it."""

    id: Id
    question: str = Field(min_length=1)
    similar_questions: list[str] = []
    negative_questions: list[str] = []
    answers: list[str] = []


class Said(BaseModel):
    role: Literal["user", "assistant"]
    text: str


class QueryRow(BaseModel):
    """A question; `history` is what was said before it, oldest first."""

    id: Id
    text: str = Field(min_length=1)
    history: list[Said] = []


class QrelRow(BaseModel):
    """How relevant a document is to a question."""

    qid: Id
    doc_id: Id
    relevance: int = Field(ge=0)


Row = TypeVar("Row", bound=BaseModel)


class BadTask(BadRequest):
    """A file of the task is missing, or a line of it is not what it must be; the message names both."""

    code = "bad_task"


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """What is searched: texts, or the entries of a bank of questions."""

    texts: Sequence[CorpusRow] = ()
    entries: Sequence[FaqRow] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """Questions to ask, and the grades of texts or entries by question. A question without grades is a
    negative: nothing in the corpus answers it."""

    queries: Sequence[QueryRow]
    grades: Mapping[str, Mapping[str, int]]


def read_corpus(path: Path) -> Corpus:
    """Raises BadTask, as all here."""
    texts = [*_rows(path, CorpusRow)]
    _refuse_doubles(path, [row.id for row in texts])
    return Corpus(texts=texts)


def read_faq(path: Path) -> Corpus:
    entries = [*_rows(path, FaqRow)]
    _refuse_doubles(path, [row.id for row in entries])
    return Corpus(entries=entries)


def read_questions(queries: Path, qrels: Path) -> Questions:
    asked = [*_rows(queries, QueryRow)]
    _refuse_doubles(queries, [query.id for query in asked])
    return Questions(queries=asked, grades=_grades(qrels))


def _grades(path: Path) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for row in _rows(path, QrelRow):
        if row.relevance:
            grades.setdefault(row.qid, {})[row.doc_id] = row.relevance
    return grades


def _rows(path: Path, shape: type[Row]) -> Iterator[Row]:
    for number, line in enumerate(_lines(path), start=1):
        if line.strip():
            try:
                yield shape.model_validate(json.loads(line))
            except ValueError as error:
                raise BadTask(f"{path}, line {number}: {_reason(error)}") from error


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8-sig").split("\n")
    except OSError as error:
        raise BadTask(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise BadTask(f"{path} is not UTF-8 text.") from error


def _reason(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_input=False, include_url=False)[0]
        return f"{'.'.join(map(str, first['loc'])) or 'the line'}: {first['msg']}"
    return f"not JSON: {error}"


def _refuse_doubles(path: Path, ids: Sequence[str]) -> None:
    for id, times in Counter(ids).items():
        if times > 1:
            raise BadTask(f"{path}: the id {id!r} stands there twice.")
