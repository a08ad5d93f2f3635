"""Ids sort by the time they were made."""

import uuid

from headrace.ids import new_id


def test_ids_are_uuids_of_version_7() -> None:
    assert uuid.UUID(new_id()).version == 7
    assert uuid.UUID(new_id()).variant == uuid.RFC_4122


def test_no_two_ids_are_the_same() -> None:
    assert len({new_id() for _ in range(10_000)}) == 10_000


def test_ids_made_later_sort_later() -> None:
    # One millisecond holds 4096 places, so a thousandth id is never made in the place of the first.
    made = [new_id() for _ in range(20_000)]
    assert made[::1000] == sorted(made[::1000])
