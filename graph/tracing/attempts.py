"""How often a stage was begun, as far as a run's events tell."""

from collections.abc import Sequence

from .recorded import LoggedEvent


def attempts_by_checkpoint(events: Sequence[LoggedEvent]) -> dict[str, int]:
    """Starts of the task that began from a checkpoint; one that told nothing anew is not seen.

    What a task had told before it died is voided: its segments by a `reset`, its open calls by a result
    that says `interrupted`. The same happens when a run ends, so only a task that speaks again counts.
    """
    attempts: dict[str, int] = {}
    voided: set[int] = set()
    segments: dict[int, int] = {}  # the task that told them
    calls: dict[str, int] = {}
    for event in events:
        for task in _tasks_voided(event, segments, calls):
            voided.add(task)
        task, checkpoint_id = event["task"], event["checkpoint_id"]
        if task is None or checkpoint_id is None:
            continue
        attempts.setdefault(checkpoint_id, 1)
        if task in voided:
            voided.remove(task)
            attempts[checkpoint_id] += 1
        if "segment" in event["data"]:
            segments[event["data"]["segment"]] = task
        if event["response_type"] == "tool_call":
            calls[event["data"]["tool_call_id"]] = task
    return attempts


def _tasks_voided(event: LoggedEvent, segments: dict[int, int], calls: dict[str, int]) -> list[int]:
    data = event["data"]
    match event["response_type"]:
        case "reset":
            return [segments[segment] for segment in data.get("segments", []) if segment in segments]
        case "tool_result" if data.get("interrupted") and data.get("tool_call_id") in calls:
            return [calls[data["tool_call_id"]]]
        case _:
            return []
