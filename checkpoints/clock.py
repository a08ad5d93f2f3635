"""The time as it is stored: ISO 8601 in UTC with `Z`, to the millisecond, so that text sorts by time."""

import time
from datetime import UTC, datetime


def now() -> str:
    return to_text(datetime.now(UTC))


def to_text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds_between(start: str, end: str) -> float:
    """Never negative: the wall clock may be set back while a run goes on."""
    passed = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    return max(0.0, passed.total_seconds() * 1000)


def unix_ms() -> int:
    """The same moment as a number: events are many, and only differences of their times are of use."""
    return time.time_ns() // 1_000_000
