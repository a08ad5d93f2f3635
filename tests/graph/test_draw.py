"""Pictures hold what the graph holds."""

from xml.etree import ElementTree

import pytest

from headrace.graph.build import build
from headrace.graph.draw import edges, mermaid, picture, shown_ms


def test_mermaid_draws_every_edge_once() -> None:
    lines = [line.strip() for line in mermaid().splitlines()[1:]]
    assert lines == [f"{source} --> {target}" for source, target in edges()]


def test_conditional_stages_lead_only_where_their_routes_say() -> None:
    assert [target for source, target in edges() if source == "rerank"] == ["boost_wiki", "fallback"]


def test_the_picture_is_well_formed_and_names_every_stage() -> None:
    svg = ElementTree.fromstring(picture())
    names = {text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert set(build().nodes) <= names


def test_the_stages_and_edges_of_a_run_stand_out_with_their_times() -> None:
    svg = picture(
        {
            "load_history": 1.25,
            "assemble_context": 3.0,
            "emit_references": 0.1,
            "generate_answer": 1234.5,
            "finalize": 0.1,
        }
    )
    assert svg.count('class="stage ran"') == 7
    assert svg.count('class="edge ran"') == 6
    assert "1,234 ms" in svg
    assert "1.2 ms" in svg


@pytest.mark.parametrize(
    ("ms", "shown"),
    [(0.04, "0.0 ms"), (9_994.0, "9,994 ms"), (38_562.0, "38.6 s"), (1_800_000.0, "1,800.0 s")],
)
def test_a_long_time_fits_beside_the_name_of_its_stage(ms: float, shown: str) -> None:
    assert shown_ms(ms) == shown
    assert len(shown) <= len("1,800.0 s")
