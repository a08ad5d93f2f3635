"""What an error means for a run is told from all that it came from."""

from headrace.checkpoints.verdicts import chain_of


def test_an_error_and_what_it_came_from_are_seen_once_also_where_the_chain_is_a_ring() -> None:
    first, second, third = ValueError("一"), KeyError("two"), OSError("3")
    first.__context__, second.__cause__, third.__context__ = second, third, first
    assert [*chain_of(first)] == [first, second, third]
    assert [*chain_of(None)] == []
