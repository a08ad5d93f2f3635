"""What was measured, as Markdown for a terminal and for docs/quality.md."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from ..errors import BadRequest
from .compare import Difference, difference
from .suite import ListedTask
from .summary import RANKED, Bar, Reports, Row, bars, by_group, plain, pooled_auc, rows

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def measured(tasks: Sequence[ListedTask], reports: Reports, *, name: str) -> str:
    """Every task, the means, and each bar."""
    found = rows(tasks, reports)
    parts = [
        f"### Settings: {name}",
        _table(
            ["task", "n", *RANKED, "recall@10", "hit@1", "regret", "final − fused", "p50 ms", "p95 ms"],
            [*map(_line, found), *_means(found)],
        ),
        "nDCG@10 by stage; recall@10 and hit@1 are of `fused`; regret is how far `fused` is below the better "
        "of its channels.",
        *_same_question(found, reports),
        _table(["held to", "measured", "bar", ""], [_bar(bar) for bar in bars(found, reports)]),
    ]
    return "\n\n".join(parts)


def compared(tasks: Sequence[ListedTask], first: Reports, second: Reports, *, names: Sequence[str]) -> str:
    """Second minus first of nDCG@10, by task and over all questions of the tasks over their own texts."""
    lines: list[list[str]] = []
    for task in tasks:
        lines.append([task.name, *_changes([(first[task.name], second[task.name])])])
    own = [(first[task.name], second[task.name]) for task in tasks if not task.mixed]
    if len(own) > 1:
        lines.append(["**all questions, own texts**", *_changes(own)])
    head = ["task", "fused", "change", "p", "final", "change", "p"]
    return "\n\n".join(
        [
            f"### {names[0]} → {names[1]}",
            _table(head, lines),
            "Change with the interval of 95 % of 10,000 resamples of the questions (paired bootstrap).",
        ]
    )


def write_between(page: Path, text: str) -> None:
    """Put the text between the markers of a page. Raises BadRequest where it has none."""
    whole = page.read_text("utf-8") if page.is_file() else ""
    before, begin, rest = whole.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise BadRequest(f"{page} needs the lines {BEGIN} and {END}.", code="no_markers")
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", "utf-8")


def _line(row: Row) -> list[str]:
    return [
        row.task.name,
        str(row.n),
        *(_three(row.ndcg[stage]) for stage in RANKED),
        _three(row.recall),
        _three(row.hit["fused"]),
        _signed(row.regret),
        _signed(row.change),
        f"{row.p50_ms:.0f}",
        f"{row.p95_ms:.0f}",
    ]


def _means(found: Sequence[Row]) -> list[list[str]]:
    own = plain(found)
    if len(own) < 2:
        return []

    def line(name: str, mean: Callable[[Callable[[Row], float]], float | None]) -> list[str]:
        ranked = [mean(lambda row, stage=stage: row.ndcg[stage]) for stage in RANKED]
        others = [mean(lambda row: row.recall), mean(lambda row: row.hit["fused"])]
        return [f"**{name}**", "", *map(_three, [*ranked, *others]), "", "", "", ""]

    sets = len({row.task.group or row.task.name for row in own})
    tasks_line = line(f"mean of {len(own)} tasks", lambda value: fmean(map(value, own)))
    tasks_line[-4:-2] = [_signed(max(row.regret for row in found)), _signed(min(row.change for row in found))]
    tasks_line[0] += " (worst regret and loss: of all)"
    return [tasks_line, line(f"mean of {sets} sets", lambda value: by_group(own, value))]


def _same_question(found: Sequence[Row], reports: Reports) -> list[str]:
    banks = [row for row in found if row.task.faq and reports[row.task.name].get("same_question")]
    if not banks:
        return []
    lines = [
        [
            row.task.name,
            _three(row.hit["vector"]),
            _three(row.hit["fused"]),
            _three(row.hit["final"]),
            *(_three(reports[row.task.name]["same_question"][key]) for key in SAME),
        ]
        for row in banks
    ]
    together = pooled_auc(reports, [row.task.name for row in banks])
    lines.append(["**all banks**", "", "", "", _three(together), "", "", ""])
    return [
        _table(
            [
                "FAQ bank",
                "hit@1 vector",
                "fused",
                "final",
                "same question: AUC",
                "with near misses",
                "accepted",
                "false accept",
            ],
            lines,
        ),
        "Near misses are questions of which an entry says that it is not meant. Accepted: share of the "
        "questions with a same-question score of .9 or more, among those that the bank holds and, falsely, "
        "among the others.",
    ]


SAME = ("auc", "auc_with_near_misses", "accepted", "false_accept")


def _bar(bar: Bar) -> list[str]:
    met = {None: "not measured", True: "met", False: "**not met**"}[bar.is_met]
    return [bar.what, _four(bar.value), f"{'≥' if bar.sense == '>=' else '≤'} {bar.bound:g}", met]


def _changes(pairs: Sequence[tuple[Any, Any]]) -> list[str]:
    cells: list[str] = []
    for stage in ("fused", "final"):
        change = difference(*_paired(pairs, stage))
        cells += [
            f"{_three(change['first'])} → {_three(change['second'])}",
            _interval(change),
            f"{change['p']:.3f}",
        ]
    return cells


def _paired(pairs: Sequence[tuple[Any, Any]], stage: str) -> tuple[list[float], list[float]]:
    ours: list[float] = []
    theirs: list[float] = []
    for first, second in pairs:
        others = {row["qid"]: row for row in second["per_query"] if not row["negative"]}
        for row in first["per_query"]:
            if not row["negative"] and row["qid"] in others:
                ours.append(row[stage]["ndcg@10"])
                theirs.append(others[row["qid"]][stage]["ndcg@10"])
    return ours, theirs


def _interval(change: Difference) -> str:
    return f"{change['difference']:+.4f} [{change['low']:+.4f}, {change['high']:+.4f}]"


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *lines])


def _three(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _four(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _signed(value: float) -> str:
    return f"{value:+.3f}"
