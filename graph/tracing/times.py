"""Times as they go on the wire: ISO 8601 in UTC, to the millisecond."""

from datetime import UTC, datetime


def wire_time(moment: str | None) -> str | None:
    """A time with any offset, as LangGraph writes it, in the form of all other times."""
    return None if moment is None else _wire(datetime.fromisoformat(moment))


def wire_time_of(unix_ms: int) -> str:
    return _wire(datetime.fromtimestamp(unix_ms / 1000, UTC))


def milliseconds_from(begin: str | None, end: str | None) -> float | None:
    """Between two wire times, where both are known."""
    if begin is None or end is None:
        return None
    return round((datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds() * 1000, 1)


def _wire(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
