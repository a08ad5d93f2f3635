"""Long addresses: short handles on the way to the model, the addresses themselves on the way back.

A model copies a hundred random characters wrongly, and pays for each of them twice.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...context import ChatMessage

# What a document types as such a handle is given one too: it comes back as typed, not as another's address.
_HANDLE = re.compile(r"res://([0-9]{4,6})", re.IGNORECASE)
_HANDLE_BEGUN = re.compile(r"r(e(s(:(/(/[0-9]{0,5})?)?)?)?)?", re.IGNORECASE)
_LONGEST_HANDLE = len("res://000000")
_MOST_HANDLES = 999_999

_CHARACTERS = r"A-Za-z0-9._~:/?#@!$&*+,;=%-"
_CANDIDATE = re.compile(
    rf"res://[0-9]{{4,}}|(?:resource://|data:|[{_CHARACTERS}]{{24}})[{_CHARACTERS}]*", re.I
)
_SCHEMES = ("https://", "http://", "resource://", "res://", "data:")
_SIGNED = re.compile(
    r"[?&;](?:x-(?:amz|goog|oss|cos)-[a-z-]+|sig|signature|token|access_?token|expires?|policy|ossaccesskeyid"
    r"|awsaccesskeyid|key-pair-id|auth_key|q-sign-[a-z-]+)=",
    re.IGNORECASE,
)
_RANDOM = re.compile(r"[A-Za-z0-9_-]{24,}")
_PICTURE = re.compile(r"\.(?:png|jpe?g|gif|webp|bmp|svg|tiff?|avif)$", re.IGNORECASE)
# Characters: an address that is longer is copied wrongly more often than not, whatever it holds.
_LONG_ADDRESS, _LONG_PATH = 120, 80
_DIGITS = 6  # of a random name; titles in addresses seldom have more than a year


def with_handles(messages: Sequence[ChatMessage]) -> tuple[list[ChatMessage], dict[str, str]]:
    """The messages with handles, and what each handle stands for. The same address has the same handle."""
    numbers: dict[str, int] = {}

    def shortened(found: re.Match[str]) -> str:
        before, address, after = _address_in(found[0])
        if not address or (address not in numbers and len(numbers) == _MOST_HANDLES):
            return found[0]
        return f"{before}{_handle(numbers.setdefault(address, len(numbers) + 1))}{after}"

    changed = [replace(one, content=_CANDIDATE.sub(shortened, one.content)) for one in messages]
    return changed, {_handle(number): address for address, number in numbers.items()}


def _handle(number: int) -> str:
    return f"res://{number:04}"


def _address_in(text: str) -> tuple[str, str, str]:
    """What stands before the address, the address, what stands behind it."""
    folded = text.lower()
    starts = [place for scheme in _SCHEMES if (place := folded.find(scheme)) >= 0]
    start = min(starts, default=0)  # a path has no beginning of its own
    before, rest = text[:start], text[start:]
    address = rest.rstrip(".,;:!?&*")
    return (before, address, rest[len(address) :]) if _is_hard_to_copy(address) else (text, "", "")


def _is_hard_to_copy(address: str) -> bool:
    kind = address[:11].lower()
    if kind.startswith("resource://") or _HANDLE.search(address):
        return True
    if kind.startswith("data:"):
        return ";base64," in address[:100]
    if kind.startswith(("http://", "https://")):
        return len(address) >= _LONG_ADDRESS or bool(_SIGNED.search(address)) or _has_random_name(address)
    return (
        "/" in address
        and bool(_PICTURE.search(address))
        and (len(address) >= _LONG_PATH or _has_random_name(address))
    )


def _has_random_name(address: str) -> bool:
    return any(sum(character.isdigit() for character in name) >= _DIGITS for name in _RANDOM.findall(address))


class ResourceExpander:
    """Turns handles back into addresses in a stream, wherever the stream is split.

    Handles that nobody gave out are removed. Only what may still become one is held back, at most its
    length. Where none was given out there is nothing to turn back, and all text goes through.
    """

    def __init__(self, resources: Mapping[str, str]) -> None:
        self._resources = resources
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown now."""
        if not self._resources:
            return piece
        text = self._held + piece
        keep = _begun_at(text)
        self._held = text[keep:]
        return self._expanded(text[:keep])

    def close(self) -> str:
        """What was held back."""
        text, self._held = self._held, ""
        return self._expanded(text)

    def _expanded(self, text: str) -> str:
        return _HANDLE.sub(lambda found: self._resources.get(found[0].lower(), ""), text)


def _begun_at(text: str) -> int:
    """Where the end of a text begins that may still become a handle."""
    for start in range(max(0, len(text) - _LONGEST_HANDLE + 1), len(text)):
        if text[start] in "rR" and _HANDLE_BEGUN.fullmatch(text, start):
            return start
    return len(text)
