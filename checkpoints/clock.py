"""The time as it is stored: ISO 8601 in UTC with `Z`, to the millisecond, so that text sorts by time."""

from datetime import UTC, datetime


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds_between(start: str, end: str) -> float:
    """Never negative: the wall clock may be set back while a run goes on."""
    passed = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    return max(0.0, passed.total_seconds() * 1000)
