"""What a measurement says in sum: the JSON document of `headrace eval` (docs/evaluation.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from .metrics import NAMES, Grades, auc, measures, percentile

TOP = 10
SEARCH = ("fused", "expanded", "reranked", "final")  # the stages that a search waits for, one by one
SURELY = 0.9  # a same-question score that would do to answer with the entry alone


@dataclass(frozen=True, slots=True, kw_only=True)
class StageResult:
    """Units as one stage ranked them, the score of the first, and the stage's own milliseconds."""

    ranking: Sequence[str]
    score: float | None
    ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionResult:
    """One question, as it was searched, and what each stage made of it.

    `same_question` is how likely the bank of questions that was searched holds it, where that is known;
    `near_miss`: an entry of the bank says of this very question that it is not meant.
    """

    qid: str
    query: str
    stages: Mapping[str, StageResult]
    same_question: float | None = None
    near_miss: bool = False


def report(
    results: Sequence[QuestionResult],
    grades: Mapping[str, Grades],
    *,
    least: int,
    config: Mapping[str, Any],
) -> dict[str, Any]:
    """Means over the questions that have a relevant unit. One that has none at all is a negative: it is
    counted in `false_accept` and `auc`; one that has only units below the grade `least` is left out."""
    rows = [row for result in results if (row := _row(result, grades.get(result.qid, {}), least)) is not None]
    answerable = [row for row in rows if not row["negative"]]
    negatives = [row for row in rows if row["negative"]]
    times = {
        stage: [result.stages[stage].ms for result in results]
        for stage in (results[0].stages if results else ())
    }
    return {
        "n": len(answerable),
        "negatives": len(negatives),
        "config": dict(config),
        "stages": {stage: _stage(answerable, stage, ms) for stage, ms in times.items()},
        "search_ms": _milliseconds([sum(result.stages[name].ms for name in SEARCH) for result in results]),
        "false_accept": fmean([bool(row["final"]["top"]) for row in negatives]) if negatives else None,
        "auc": auc(_best(answerable), _best(negatives)),
        "same_question": _same_question(answerable, negatives),
        "per_query": rows,
    }


def _row(result: QuestionResult, grades: Grades, least: int) -> dict[str, Any] | None:
    if grades and max(grades.values()) < least:
        return None
    stages = {
        name: {
            **(measures(stage.ranking, grades, least=least) if grades else {}),
            "top": [*stage.ranking[:TOP]],
            "score": stage.score,
        }
        for name, stage in result.stages.items()
    }
    return {
        "qid": result.qid,
        "query": result.query,
        **stages,
        "same_question": result.same_question,
        "near_miss": result.near_miss,
        "negative": not grades,
    }


def _stage(rows: Sequence[Mapping[str, Any]], stage: str, ms: Sequence[float]) -> dict[str, float | None]:
    means = {name: fmean(row[stage][name] for row in rows) if rows else None for name in NAMES}
    taken = _milliseconds(ms)
    return {**means, "p50_ms": taken["p50"], "p95_ms": taken["p95"]}


def _milliseconds(values: Sequence[float]) -> dict[str, float | None]:
    if not values:
        return {"p50": None, "p95": None}
    return {"p50": round(median(values), 2), "p95": round(percentile(values, 0.95), 2)}


def _same_question(
    answerable: Sequence[Mapping[str, Any]], negatives: Sequence[Mapping[str, Any]]
) -> dict[str, float | None] | None:
    """How well the calibrated score tells questions that the bank holds from others."""
    scored = [row for row in (*answerable, *negatives) if row["same_question"] is not None]
    if not scored:
        return None
    known, unknown = (
        [row["same_question"] for row in scored if row["negative"] is is_not] for is_not in (False, True)
    )
    return {
        "auc": same_question_auc(scored),
        "auc_with_near_misses": auc(known, unknown),
        "accepted": _share(known),
        "false_accept": _share(unknown),
    }


def same_question_auc(rows: Sequence[Mapping[str, Any]]) -> float | None:
    """Of rows of `per_query`, without near misses among the negatives.

    The bank has other entries besides the one that is not meant, and such a question often asks what one of
    those does: of 145 in one bank that we know 93 stand there once more, with that entry as their answer.
    """
    known = [row["same_question"] for row in rows if not row["negative"]]
    return auc(known, [row["same_question"] for row in rows if row["negative"] and not row["near_miss"]])


def _share(scores: Sequence[float]) -> float | None:
    return fmean([score >= SURELY for score in scores]) if scores else None


def _best(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """The best score of each question; a question that nothing was found for has the lowest there is."""
    return [row["final"]["score"] or 0.0 for row in rows]
