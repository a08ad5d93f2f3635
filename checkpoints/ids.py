"""Ids of things that happen: UUIDv7 in hex, so that they sort by the time they were made."""

import secrets
import time


def new_id() -> str:
    """32 hex digits: milliseconds, a finer part of the same clock (244 ns), then 62 random bits.

    RFC 9562, method 3: without a counter to share between threads, ids of one process still sort in
    the order they were made in, as long as the clock does not step back.
    """
    milliseconds, rest = divmod(time.time_ns(), 1_000_000)
    fine = rest * 4096 // 1_000_000
    value = milliseconds << 80 | 0x7 << 76 | fine << 64 | 0b10 << 62 | secrets.randbits(62)
    return f"{value:032x}"
