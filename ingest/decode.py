"""Bytes to text: which encoding makes these bytes ordinary writing."""

import codecs
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import charset_normalizer

from ..errors import Unreadable
from .frequent import JAPANESE, SIMPLIFIED, TRADITIONAL

# Longest first: the mark of UTF-32 LE begins with the mark of UTF-16 LE.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# What pages and old programs call an encoding, and the superset that reads all of what they mean.
SUPERSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "cp950",
    "shift_jis": "cp932",
}

SAMPLE_BYTES = 6_000

# Natural logarithms, as all scores here. Chosen by trying 10-character cuts of real texts.
CONTROL = -20.0
REPLACED = -15.0
UNKNOWN = -17.0
SCRIPT_SWITCH = -2.5  # a Latin letter right beside a Han character or kana
NO_MARK = -6.0  # UTF-16 nearly always carries its mark
STRICT_UTF8 = 8.0  # other encodings are valid UTF-8 only by accident
FOREIGN = -9.6  # below this mean per non-ASCII character it is none of the scripts known here
FOREIGN_LENGTH = 16


def decode(data: bytes, *, declared: str | None = None) -> tuple[str, str]:
    """The text, with plain newlines and without control characters, and the encoding's Python name.

    `declared` is what the file says of itself; it holds unless the bytes contradict it.
    Raises Unreadable when the bytes are no text.
    """
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return _clean(data[len(mark) :].decode(encoding, "replace")), encoding
    encoding = _declared(data, declared) or _guess(data)
    text = data.decode(encoding, "replace")
    if _looks_binary(text):
        raise Unreadable("this is not text: no encoding makes it readable", code="not_text")
    return _clean(text), encoding


def declared_encoding(head: bytes) -> str | None:
    """What the first bytes of an HTML or XML file say about its encoding."""
    found = re.search(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""", head[:4096])
    return found.group(1).decode("ascii") if found else None


def _declared(data: bytes, declared: str | None) -> str | None:
    if not declared:
        return None
    try:
        name = codecs.lookup(declared).name
        name = SUPERSETS.get(name, name)
        data.decode(name)
    except (LookupError, UnicodeError):
        return None
    # A single-byte encoding reads anything, so that it was possible proves nothing.
    return None if name == "cp1252" else name


def _guess(data: bytes) -> str:
    if not data.strip(b"\0") or _is_plain_ascii(data):
        return "utf-8"
    try:
        data.decode("utf-8")
        if _surely_utf8(data):
            return "utf-8"
    except UnicodeDecodeError:
        pass
    scored = sorted(_candidates(data), key=lambda candidate: -candidate.score)
    best = scored[0]
    if best.foreign:
        return _ask_library(data) or best.encoding
    return _that_reads_all(data, best.encoding)


def _is_plain_ascii(data: bytes) -> bool:
    return data.isascii() and not re.search(rb"[\0-\x08\x0e-\x1a]", data)


def _surely_utf8(data: bytes) -> bool:
    """Valid UTF-8 that other encodings do not give by accident: longer sequences, or many short ones."""
    if b"\0" in data:
        return False
    return bool(re.search(rb"[\xe0-\xf4][\x80-\xbf]{2}", data)) or len(re.findall(rb"[\xc2-\xdf]", data)) > 12


def _ask_library(data: bytes) -> str | None:
    # Scripts that are not weighed here (Cyrillic, Hangul, …) are what the library is good at.
    match = charset_normalizer.from_bytes(data[:SAMPLE_BYTES]).best()
    if match is None:
        return None
    try:
        data.decode(match.encoding)
    except UnicodeError:
        return None
    return match.encoding


def _that_reads_all(data: bytes, encoding: str) -> str:
    for wider in {"cp950": ("cp950", "big5hkscs"), "cp1252": ("cp1252", "latin-1")}.get(encoding, ()):
        try:
            data.decode(wider)
        except UnicodeDecodeError:
            continue
        return wider
    return encoding


def _looks_binary(text: str) -> bool:
    sample = text[:SAMPLE_BYTES]
    return sum(map(_is_strange, sample)) > max(2, len(sample) // 12)


def _is_strange(character: str) -> bool:
    if character < " ":
        return character not in "\t\n\r\f\v\x1a\x1b"
    return character == "\ufffd" or unicodedata.category(character) in ("Cn", "Co", "Cs")


def _clean(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")
    return re.sub("[\0-\x08\x0b\x0e-\x1f\x7f\ufeff]", "", text)


# --- how ordinary a decoding is: a unigram model per script -------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    encoding: str
    score: float
    foreign: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """Log probabilities of characters; `rare` is for Han characters that are not listed."""

    listed: Mapping[str, float]
    rare: float

    def of(self, character: str) -> float:
        known = self.listed.get(character)
        if known is not None:
            return known
        if "\u3400" <= character <= "\u9fff":
            return self.rare
        return UNKNOWN


def _model(rare: float, *groups: tuple[Iterable[str], float]) -> _Model:
    """Each group shares its mass evenly; a character counts in the first group that has it."""
    listed: dict[str, float] = {}
    for characters, mass in groups:
        new = {character for character in characters if character not in listed}
        listed.update(dict.fromkeys(new, math.log(mass / len(new))))
    return _Model(listed=listed, rare=rare)


def _double_bytes(encoding: str, leads: range, trails: Iterable[int]) -> str:
    trails = [*trails]
    return "".join(
        bytes((lead, trail)).decode(encoding, "ignore") for lead in leads for trail in trails
    )  # the codec's own tables, so that none has to be kept here


GB_TRAILS = range(0xA1, 0xFF)
BIG5_TRAILS = (*range(0x40, 0x7F), *range(0xA1, 0xFF))
ASCII = "".join(map(chr, range(0x20, 0x7F))) + "\n\r\t"
KANA = "".join(map(chr, (*range(0x3041, 0x3094), *range(0x30A1, 0x30F7)))) + "ー"
HALF_KANA = "".join(map(chr, range(0xFF61, 0xFFA0)))
WIDE = "".join(map(chr, range(0xFF01, 0xFF5F)))
CJK_MARKS = "，。、；：？！“”‘’（）《》…—·"
HANT_MARKS = "，。、；：？！「」『』（）《》…—．"
JA_MARKS = "、。「」『』（）・？！～…　"
ACCENTED = "éèàçêâîôûùïëüöäßñóáíúåøæœ"
ACCENTED_LESS = "ÉÈÀÇÊÂÎÔÛÖÄÜÓÁÍÚÅØÆÑŒãõìòÃÕýžšÿ"
LATIN_MARKS = "’“”‘–—…«»€°\u00a0·£§©®™×½²³¿¡ºª•"

ZH_HANS = _model(
    -14.5,
    (CJK_MARKS, 0.10),
    (SIMPLIFIED, 0.52),
    (_double_bytes("gb2312", range(0xB0, 0xD8), GB_TRAILS), 0.13),
    (ASCII, 0.22),
    (TRADITIONAL, 0.01),
    (_double_bytes("gb2312", range(0xD8, 0xF8), GB_TRAILS), 0.006),
    (WIDE + "「」『』【】〈〉　", 0.006),
    (KANA, 0.0004),
    (_double_bytes("gb2312", range(0xA1, 0xAA), GB_TRAILS), 0.001),
)
ZH_HANT = _model(
    -15.0,
    (HANT_MARKS, 0.10),
    (TRADITIONAL, 0.52),
    (_double_bytes("big5", range(0xA4, 0xC7), BIG5_TRAILS), 0.14),
    (ASCII, 0.22),
    (_double_bytes("big5", range(0xC9, 0xFA), BIG5_TRAILS), 0.003),
    (WIDE + "【】〈〉“”‘’　", 0.006),
    (_double_bytes("big5", range(0xA1, 0xA4), BIG5_TRAILS), 0.001),
)
JA = _model(
    -14.5,
    (JA_MARKS, 0.08),
    (KANA, 0.42),
    (JAPANESE, 0.20),
    (ASCII, 0.22),
    (_double_bytes("euc_jp", range(0xB0, 0xD0), GB_TRAILS), 0.05),
    (_double_bytes("euc_jp", range(0xD0, 0xF5), GB_TRAILS), 0.003),
    (WIDE, 0.006),
    (HALF_KANA, 0.003),
    (_double_bytes("euc_jp", range(0xA1, 0xA9), GB_TRAILS), 0.001),
)
LATIN = _model(
    UNKNOWN,
    (ASCII, 0.93),
    (ACCENTED, 0.045),
    (LATIN_MARKS, 0.01),
    (ACCENTED_LESS, 0.003),
    ("".join(map(chr, range(0xA1, 0x100))), 0.0005),
)
UNICODE = (ZH_HANS, ZH_HANT, JA, LATIN)

MODELS: Mapping[str, tuple[_Model, ...]] = {
    "utf-8": UNICODE,
    "gb18030": (ZH_HANS,),
    "cp950": (ZH_HANT,),
    "cp932": (JA,),
    "cp1252": (LATIN,),
    "utf-16-le": UNICODE,
    "utf-16-be": UNICODE,
}


def _candidates(data: bytes) -> Iterable[_Candidate]:
    lines = _telling_lines(data)
    for encoding, models in MODELS.items():
        sample = data[:SAMPLE_BYTES] if encoding.startswith("utf-16") else lines
        # Incremental: a sample may end inside a character, which is not the encoding's fault.
        text = codecs.getincrementaldecoder(encoding)("replace").decode(sample, len(sample) == len(data))
        score, foreign = max(_likeness(text, model) for model in models)
        if encoding == "utf-8":
            score += STRICT_UTF8 if "\ufffd" not in text else 0.0
        elif encoding.startswith("utf-16"):
            score += NO_MARK
        yield _Candidate(encoding=encoding, score=score, foreign=foreign)


def _telling_lines(data: bytes) -> bytes:
    """Lines that are not plain ASCII, up to a sample: in long English files they are the ones that tell."""
    if len(data) <= SAMPLE_BYTES:
        return data
    found = bytearray()
    for line in data.split(b"\n"):
        if not line.isascii():
            found += line + b"\n"
        if len(found) >= SAMPLE_BYTES:
            break
    return bytes(found[:SAMPLE_BYTES])


def _likeness(text: str, model: _Model) -> tuple[float, bool]:
    """The score of a decoding, and whether it is too poor to be one of the scripts known here."""
    total = strange = 0.0
    count = 0
    before = ""
    for character in text:
        own = _own_score(character, model)
        total += own + _pair_score(before, character, model)
        if character > "\x7f":
            strange += own
            count += 1
        before = character
    return total, count >= FOREIGN_LENGTH and strange / count < FOREIGN


def _own_score(character: str, model: _Model) -> float:
    if character == "\ufffd":
        return REPLACED
    if character < " " and character not in "\n\r\t\f\x1a":
        return CONTROL
    known = model.of(character)
    if known == UNKNOWN:
        category = unicodedata.category(character)
        return CONTROL if category in ("Co", "Cn", "Cc", "Cs") else UNKNOWN
    return known


def _pair_score(before: str, character: str, model: _Model) -> float:
    if before <= "\x7f" and character <= "\x7f":
        return 0.0
    if model is LATIN:
        return _latin_pair_score(before, character)
    plain, other = (before, character) if before <= "\x7f" else (character, before)
    return SCRIPT_SWITCH if plain <= "\x7f" and plain.isalpha() and other >= "\u2e80" else 0.0


def _latin_pair_score(before: str, character: str) -> float:
    if before > "\x7f" and character > "\x7f":
        return -1.5 if before.isalpha() and character.isalpha() else -2.5
    if before.islower() and character.isupper():
        return -3.0
    return -2.0 if (before.isdigit() and character.isalpha()) else 0.0
