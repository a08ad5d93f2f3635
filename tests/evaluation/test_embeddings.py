from collections.abc import Sequence
from pathlib import Path

import pytest

from headrace.evaluation.embeddings import BATCH, opened_vectors

pytestmark = pytest.mark.anyio


class Computed:
    """Vectors that say which key they are of, and how often each was asked for."""

    def __init__(self) -> None:
        self.batches: list[list[bytes]] = []

    async def __call__(self, keys: Sequence[bytes]) -> list[list[float]]:
        self.batches.append([*keys])
        return [[float(key[0]), 0.5] for key in keys]


async def test_what_one_measurement_has_computed_the_next_one_reads(tmp_path: Path) -> None:
    computed = Computed()
    for _ in range(2):
        with opened_vectors(tmp_path / "新" / "vectors.sqlite") as kept:
            vectors, _ = await kept.get_many([b"a", b"b", b"a"], computed)
        assert vectors == [[97.0, 0.5], [98.0, 0.5], [97.0, 0.5]]
    assert computed.batches == [[b"a", b"b"]]


async def test_many_are_computed_and_kept_a_batch_at_a_time(tmp_path: Path) -> None:
    computed = Computed()
    keys = [bytes([n]) for n in range(BATCH + 1)]
    with opened_vectors(tmp_path / "vectors.sqlite") as kept:
        vectors, missed = await kept.get_many(keys, computed)
    assert [len(batch) for batch in computed.batches] == [BATCH, 1]
    assert missed == len(keys)
    assert [vector[0] for vector in vectors] == [*range(BATCH + 1)]
