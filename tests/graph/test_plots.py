"""Plots are well formed, show what they were given, and hold text as text."""

from collections.abc import Sequence
from xml.etree import ElementTree

import pytest

from headrace.graph.plots import Span, Stop, passage_plot, timing_plot

SVG = "{http://www.w3.org/2000/svg}"
RUN = [Span("search_chunks", 0, 40), Span("rerank", 40, 8), Span("generate_answer", 48, 952)]


def test_each_stage_has_a_row_and_each_run_a_bar_in_it_with_its_time() -> None:
    svg = ElementTree.fromstring(timing_plot({"2020年的营业收入": RUN, "fork": RUN[1:]}))
    shown = texts(svg)
    assert [shown.count(stage) for stage in ("search_chunks", "rerank", "generate_answer")] == [1, 1, 1]
    assert (shown.count("40 ms"), shown.count("8.0 ms"), shown.count("952 ms")) == (1, 2, 2)
    assert {"2020年的营业收入", "fork"} <= set(shown)


def test_bars_begin_where_their_stage_began_and_are_as_long_as_it_took() -> None:
    svg = ElementTree.fromstring(timing_plot({"run": RUN}))
    search, _, answer = [rect for rect in svg.iter(f"{SVG}rect") if rect.get("height") == "13"]
    assert number(search, "x") + number(search, "width") < number(answer, "x")
    assert number(answer, "width") / number(search, "width") == pytest.approx(952 / 40, rel=0.02)


@pytest.mark.parametrize("end", [0.2, 7, 1_000, 95_000])
def test_the_axis_has_a_few_round_times(end: float) -> None:
    svg = ElementTree.fromstring(timing_plot({"run": [Span("rerank", 0, end)]}))
    lines = [line for line in svg.iter(f"{SVG}line") if line.get("class") == "line"]
    assert 3 <= len(lines) <= 7


def test_a_run_that_did_nothing_yet_is_an_empty_plot() -> None:
    assert "等待中" in texts(ElementTree.fromstring(timing_plot({"等待中": []})))


def test_names_are_text() -> None:
    assert "<script>" not in timing_plot({"<script>alert('水')</script>": RUN})


def test_a_passage_goes_from_place_to_place() -> None:
    stops = [Stop("vector", 7, 50), Stop("keyword", None, 50), Stop("fused", 2, 80), Stop("selected", 1, 5)]
    svg = ElementTree.fromstring(passage_plot(stops))
    circles = list(svg.iter(f"{SVG}circle"))
    assert [number(one, "cy") for one in circles] == sorted(
        (number(one, "cy") for one in circles), reverse=True
    )
    assert {"7 of 50", "–", "2 of 80", "1 of 5"} <= set(texts(svg))


def test_a_passage_that_left_says_where_and_why() -> None:
    stops = [Stop("vector", 7, 50), Stop("reranked", None, 10)]
    svg = ElementTree.fromstring(passage_plot(stops, left="rerank: 低于阈值"))
    assert "rerank: 低于阈值" in texts(svg)
    assert len([line for line in svg.iter(f"{SVG}line") if line.get("class") == "gone"]) == 2


@pytest.mark.parametrize("stops", [[], [Stop("vector", None, None)], [Stop("vector", 1, 1)]])
def test_the_shortest_ways_are_drawn_too(stops: Sequence[Stop]) -> None:
    ElementTree.fromstring(passage_plot(stops, left="gone"))


def texts(svg: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in svg.iter(f"{SVG}text")]


def number(element: ElementTree.Element, name: str) -> float:
    return float(element.get(name, "nan"))
