"""How often stages were begun, told from a log alone."""

from headrace.graph.tracing.attempts import attempts_by_checkpoint

from .recording import an_event


def test_a_stage_that_only_spoke_was_begun_once() -> None:
    assert attempts_by_checkpoint([an_event(1, task=1, segment=1), an_event(2, task=2, segment=2)]) == {
        "cp1": 1,
        "cp2": 1,
    }


def test_a_window_that_was_interrupted_and_opened_again_is_a_second_attempt() -> None:
    log = [
        an_event(1, "tool_call", task=1, tool_call_id="a"),
        an_event(2, "tool_result", tool_call_id="a", interrupted=True),
        an_event(3, "tool_call", task=1, tool_call_id="b"),
        an_event(4, "tool_result", task=1, tool_call_id="b"),
    ]
    assert attempts_by_checkpoint(log) == {"cp1": 2}


def test_a_reset_and_an_interrupted_window_of_one_start_count_once() -> None:
    log = [
        an_event(1, "tool_call", task=1, tool_call_id="a"),
        an_event(2, task=1, segment=1),
        an_event(3, "reset", segments=[1]),
        an_event(4, "tool_result", tool_call_id="a", interrupted=True),
        an_event(5, task=1, segment=2),
    ]
    assert attempts_by_checkpoint(log) == {"cp1": 2}


def test_a_window_that_the_end_of_the_run_closed_is_no_attempt() -> None:
    log = [
        an_event(1, "tool_call", task=1, tool_call_id="a"),
        an_event(2, "tool_result", tool_call_id="a", interrupted=True),
        an_event(3, "stop"),
    ]
    assert attempts_by_checkpoint(log) == {"cp1": 1}


def test_three_deaths_are_four_attempts() -> None:
    log = [an_event(1, task=1, segment=1)]
    for number in (2, 4, 6):
        log += [
            an_event(number, "reset", segments=[number // 2]),
            an_event(number + 1, task=1, segment=number // 2 + 1),
        ]
    assert attempts_by_checkpoint(log) == {"cp1": 4}
