"""Frames as they stand on the wire."""

import json
from typing import Any


def frame(data: Any, *, number: int | None = None) -> bytes:
    head = "" if number is None else f"id: {number}\n"
    return f"{head}event: message\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
