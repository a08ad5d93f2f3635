from io import StringIO

from rich.console import Console

from headrace.cli.timeline import BAR, timeline
from headrace.graph.tracing.shapes import Stage

from .documents import a_stage


def drawn(*stages: Stage, ended_at: str | None = None) -> list[str]:
    console = Console(file=StringIO(), width=100, markup=False)
    console.print(timeline(stages, ended_at=ended_at))
    assert isinstance(console.file, StringIO)
    return [text.rstrip() for text in console.file.getvalue().splitlines()][1:]


def at(ms: int) -> str:
    return f"2026-11-30T08:00:{ms // 1000:02}.{ms % 1000:03}Z"


def test_bars_stand_where_the_time_went() -> None:
    first, second, third = drawn(
        a_stage("search_chunks", started_at=at(0), duration_ms=500.0),
        a_stage("rerank", started_at=at(500), duration_ms=0.2),
        a_stage("generate_answer", started_at=at(500), duration_ms=500.0),
    )
    half = BAR // 2
    assert first.endswith("  " + "━" * half)
    assert second.count("━") == 1
    assert third.index("━") == second.index("━") == first.index("━") + half


def test_a_row_says_how_many_hits_came_and_went_and_why_most_often_first() -> None:
    (row,) = drawn(a_stage(hits_in=50, hits_out=12, departures={"over_count": 8, "below_threshold": 30}))
    assert row.endswith("50 → 12  30 below_threshold, 8 over_count")


def test_a_stage_begun_again_and_one_under_way_are_told() -> None:
    again, running = drawn(
        a_stage("understand_query", attempts=2), a_stage(duration_ms=None, progress="running", hits_in=5)
    )
    assert again.startswith("understand_query ×2")
    assert "5 →  running" in running
    assert "–" in running


def test_inherited_stages_have_no_place_on_the_scale() -> None:
    before, own = drawn(
        a_stage("search_chunks", inherited=True, started_at=at(0)), a_stage(started_at=at(30_000))
    )
    assert "before the fork" in before
    assert own.count("━") == BAR


def test_stages_whose_times_are_gone_are_still_listed() -> None:
    (row,) = drawn(a_stage(started_at=None, duration_ms=None))
    assert row.split() == ["rerank", "–"]


def test_no_stage_yet_is_an_empty_table() -> None:
    assert drawn() == []


def test_a_stage_in_which_the_run_was_stopped_lasted_until_then() -> None:
    searched, stopped = drawn(
        a_stage("search_chunks", started_at=at(0), duration_ms=100.0),
        a_stage("generate_answer", started_at=at(100), duration_ms=None, progress="stopped"),
        ended_at=at(10_000),
    )
    assert searched.count("━") == 1
    assert stopped.count("━") == BAR
