from headrace.cli.upkeep import cleared_line, erased_line, gc_lines

NONE = {"runs_trimmed": 0, "runs_emptied": 0, "checkpoints": 0, "events": 0, "passages": 0, "threads": 0}
SAME = {"dry_run": False, "bytes_before": 2_000, "bytes_after": 2_000, "freed_bytes": 0}


def test_gc_says_what_went_and_sizes_in_human_units() -> None:
    sizes = {"dry_run": False, "bytes_before": 12_345_678, "bytes_after": 8_100_000, "freed_bytes": 4_245_678}
    assert gc_lines({**NONE, **sizes, "checkpoints": 1200, "runs_trimmed": 3}) == [
        "Removed:",
        "          3 runs trimmed to their last checkpoint",
        "      1,200 checkpoints",
        "Size: 12.3 MB → 8.1 MB, 4.2 MB given back.",
    ]


def test_a_dry_run_is_told_as_one() -> None:
    told = gc_lines({**NONE, **SAME, "dry_run": True, "events": 5})
    assert told[0] == "To be removed:"
    assert told[-1].endswith("to be given back.")


def test_nothing_to_remove_is_said() -> None:
    assert gc_lines({**NONE, **SAME})[0] == "No run is old enough, and all of them fit."


def test_what_was_erased_is_counted() -> None:
    assert erased_line({"sessions": 1, "runs": 2, "documents": 0}) == "Erased: 1 session, 2 runs."
    assert erased_line({"sessions": 0}) == "Erased: nothing was left of it."


def test_what_was_forgotten_is_counted() -> None:
    assert cleared_line({"queries": 2, "embeddings": 1200, "rerank": 0}) == (
        "Forgotten: 2 queries, 1,200 embeddings."
    )
    assert cleared_line({"queries": 0}) == "Nothing was kept."
