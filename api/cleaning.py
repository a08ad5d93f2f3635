"""Text from outside without the characters that no reader can see."""

import re
from collections.abc import Mapping
from typing import Any

# C0 and C1 controls but tab, line feed and carriage return; NUL ends strings in stores below us.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def without_controls(text: str) -> str:
    return _CONTROLS.sub("", text)


def cleaned_texts(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same with its texts cleaned; what is no text is left for whoever checks it."""
    return {
        name: without_controls(value) if isinstance(value, str) else value for name, value in given.items()
    }
