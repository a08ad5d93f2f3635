"""References as they go over the wire."""

from headrace.nodes.answering.references import to_references

from ...fakes import a_document, a_hit


def test_a_reference_has_the_wire_names_and_the_passage_instead_of_content() -> None:
    hit = a_hit(
        "a", passage="f" * 64, source={"page": 3, "boxes": [[3, 1, 2, 3, 4]], "section": "1", "url": None}
    )
    [reference] = to_references([hit], documents={"doc1": a_document(title="差旅制度")}, aliases={"c1": "a"})
    assert reference["id"] == "a"
    assert reference["alias"] == "c1"
    assert (reference["knowledge_base_id"], reference["knowledge_id"]) == ("kb1", "doc1")
    assert reference["knowledge_title"] == "差旅制度"
    assert reference["passage"] == "f" * 64
    assert (reference["page"], reference["boxes"], reference["section"]) == (3, [[3, 1, 2, 3, 4]], "1")
    assert "content" not in reference


def test_a_search_result_carries_its_content() -> None:
    [reference] = to_references([a_hit("a")], documents={}, aliases={}, texts=["Ten days."])
    assert (reference["content"], reference["alias"], reference["knowledge_title"]) == ("Ten days.", None, "")
