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
class Unit:
    """What is indexed as one document: its texts, of which each alone can be found."""

    id: str
    texts: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Units to search, questions to ask, and the grades of units by question. A question without grades
    is a negative: nothing in the corpus answers it."""

    units: Sequence[Unit]
    queries: Sequence[QueryRow]
    grades: Mapping[str, Mapping[str, int]]


def read_task(*, corpus: Path | None, faq: Path | None, queries: Path, qrels: Path) -> Task:
    """Raises BadTask."""
    if (corpus is None) == (faq is None):
        raise BadTask("Name one of --corpus and --faq.")
    units = [*(_corpus_units(corpus) if corpus else _faq_units(faq or Path()))]
    asked = [*_rows(queries, QueryRow)]
    _refuse_doubles(corpus or faq or Path(), [unit.id for unit in units])
    _refuse_doubles(queries, [query.id for query in asked])
    return Task(units=units, queries=asked, grades=_grades(qrels))


def _corpus_units(path: Path) -> Iterator[Unit]:
    for row in _rows(path, CorpusRow):
        yield Unit(id=row.id, texts=[f"{row.title}\n{row.text}" if row.title else row.text])


def _faq_units(path: Path) -> Iterator[Unit]:
    for row in _rows(path, FaqRow):
        yield Unit(id=row.id, texts=[row.question, *filter(str.strip, row.similar_questions)])


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
