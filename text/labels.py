"""What a tag may be called, and when two names are one."""

import unicodedata

from ..errors import BadRequest

LABEL_LENGTH = 50
INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp", "Zs", "Mc", "Me", "Mn")


def good_label(name: str) -> str:
    """On one line. Raises BadRequest `bad_tag_name`."""
    name = " ".join(name.split())
    if not 1 <= len(name) <= LABEL_LENGTH:
        raise BadRequest(f"The name of a tag has 1 to {LABEL_LENGTH} characters.", code="bad_tag_name")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        raise BadRequest("The name of a tag cannot hold control characters.", code="bad_tag_name")
    if not is_visible(name):
        raise BadRequest("The name of a tag needs a character that can be seen.", code="bad_tag_name")
    return name


def label_key(name: str) -> str:
    """Names with the same key look the same: width, letter case and unseen characters do not matter."""
    seen = "".join(character for character in name if unicodedata.category(character) != "Cf")
    return unicodedata.normalize("NFKC", seen).casefold()


def is_visible(text: str) -> bool:
    """Whether a reader sees anything of it: spaces, joiners and marks alone are nothing."""
    return any(unicodedata.category(character) not in INVISIBLE for character in text)
