"""What the reports of many tasks come to: a row for each, means, and the bars they are held to. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from .report import same_question_auc
from .suite import ListedTask

Report = Mapping[str, Any]
Reports = Mapping[str, Report]  # by the name of the task

RANKED = ("vector", "keyword", "fused", "expanded", "final")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One task. `regret` is how far `fused` falls below the better of its channels; below 0 it is ahead."""

    task: ListedTask
    n: int
    ndcg: Mapping[str, float]
    recall: float  # at 10, of `fused`
    hit: Mapping[str, float]  # at 1
    regret: float
    change: float  # from `fused` to `final`
    places: float  # what the places kept for the other language cost `fused`
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """`value` is None where the tasks that it is measured on are not there."""

    what: str
    value: float | None
    sense: Literal[">=", "<="]
    bound: float

    @property
    def is_met(self) -> bool | None:
        if self.value is None:
            return None
        # Measured values carry the noise of floats: .872 is .872.
        slack = 1e-9
        return self.value >= self.bound - slack if self.sense == ">=" else self.value <= self.bound + slack


def rows(tasks: Sequence[ListedTask], reports: Reports) -> list[Row]:
    return [_row(task, reports[task.name]) for task in tasks if task.name in reports]


def _row(task: ListedTask, report: Report) -> Row:
    stages = report["stages"]
    ndcg = {name: stages[name]["ndcg@10"] for name in RANKED}
    unplaced = stages.get("unplaced", stages["fused"])["ndcg@10"]
    searching = stages["fused"]
    return Row(
        task=task,
        n=report["n"],
        ndcg=ndcg,
        recall=searching["recall@10"],
        hit={name: stages[name]["hit@1"] for name in RANKED},
        regret=max(ndcg["vector"], ndcg["keyword"]) - ndcg["fused"],
        change=ndcg["final"] - ndcg["fused"],
        places=unplaced - ndcg["fused"],
        p50_ms=report["search_ms"]["p50"],
        p95_ms=report["search_ms"]["p95"],
    )


def plain(found: Sequence[Row]) -> list[Row]:
    """Tasks over their own texts alone."""
    return [row for row in found if not row.task.mixed]


def by_group(found: Sequence[Row], value: Callable[[Row], float]) -> float | None:
    """The mean over sets of questions, each the mean of its tasks."""
    groups: dict[str, list[float]] = {}
    for row in found:
        groups.setdefault(row.task.group or row.task.name, []).append(value(row))
    return _mean([fmean(values) for values in groups.values()])


def pooled_auc(reports: Reports, names: Sequence[str]) -> float | None:
    """Of the same-question score over the questions of several banks together, near misses left out."""
    rows = [row for name in names for row in reports[name]["per_query"] if row["same_question"] is not None]
    return same_question_auc(rows)


def bars(found: Sequence[Row], reports: Reports) -> list[Bar]:
    """What retrieval is held to, with the built-in embedding model."""
    named = {row.task.name: row for row in found}
    # The mean of a part of them would say nothing.
    own = plain(found) if len(plain(found)) >= PLAIN_TASKS else []
    banks = [row.task.name for row in found if row.task.faq]
    one_language = [row for row in found if row.task.mixed and row.task.name not in ACROSS]

    def of(name: str, value: Callable[[Row], float]) -> float | None:
        return value(named[name]) if name in named else None

    return [
        *(
            Bar(
                what=f"mean nDCG@10, {stage}",
                value=_mean([r.ndcg[stage] for r in own]),
                sense=">=",
                bound=0.872,
            )
            for stage in ("fused", "final")
        ),
        Bar(what="worst regret of fused", value=_most([r.regret for r in found]), sense="<=", bound=0.010),
        Bar(
            what="most that final loses on fused",
            value=_most([-r.change for r in found]),
            sense="<=",
            bound=0.005,
        ),
        *(
            Bar(
                what=f"recall@10 across languages, {name}",
                value=of(name, lambda r: r.recall),
                sense=">=",
                bound=least,
            )
            for name, least in ACROSS.items()
        ),
        Bar(
            what="mean loss to that on the other mixed tasks",
            value=_mean([r.places for r in one_language]),
            sense="<=",
            bound=0.004,
        ),
        *(
            Bar(
                what=f"hit@1 {stage}, {name}",
                value=of(name, lambda r, s=stage: r.hit[s]),
                sense=">=",
                bound=least,
            )
            for name, least in FIRST.items()
            for stage in ("fused", "final")
        ),
        Bar(
            what="same question, AUC of all banks, no near misses",
            value=pooled_auc(reports, banks),
            sense=">=",
            bound=0.90,
        ),
        Bar(
            what="same question, AUC across languages",
            value=pooled_auc(reports, [name for name in banks if name == BETWEEN]),
            sense=">=",
            bound=0.75,
        ),
        Bar(
            what="nDCG@10 fused, stard", value=of("stard", lambda r: r.ndcg["fused"]), sense=">=", bound=0.60
        ),
    ]


PLAIN_TASKS = 16
ACROSS = {"mixed-xquad-zh-en": 0.25, "mixed-xquad-en-zh": 0.75}  # the answer is in the other language only
BETWEEN = "faq-xquad-en-zh"  # questions in one language to a bank in the other
FIRST = {"faq-banking": 0.72, "faq-covid": 0.82, BETWEEN: 0.88, "faq-product": 0.92}


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _most(values: Sequence[float]) -> float | None:
    return max(values, default=None)
