"""Which files are read: by the name's suffix, checked against what the bytes say."""

import codecs
import io
import re
import zipfile
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_args

from ..errors import UnsupportedFormat

Format = Literal["text", "markdown", "html", "csv", "pdf", "docx", "pptx", "xlsx", "epub", "ipynb"]

SUFFIXES: dict[str, Format] = {
    ".txt": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdx": "markdown",
    ".html": "html",
    ".htm": "html",
    ".csv": "csv",
    ".tsv": "csv",
    ".pdf": "pdf",
    ".docx": "docx",
    ".pptx": "pptx",
    ".xlsx": "xlsx",
    ".epub": "epub",
    ".ipynb": "ipynb",
}
SUPPORTED = tuple(suffix.removeprefix(".") for suffix in SUFFIXES)

MEDIA_TYPES: dict[Format, str] = {
    "text": "text/plain",
    "markdown": "text/markdown",
    "html": "text/html",
    "csv": "text/csv",
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "epub": "application/epub+zip",
    "ipynb": "application/x-ipynb+json",
}

# The first bytes of files that people rename, and what to call them.
SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"BM", "a BMP image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"{\\rtf", "an RTF file"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90\x00", "a program"),
    (b"SQLite format 3\x00", "a database"),
    (b"ID3", "a sound file"),
    (b"OggS", "a sound file"),
)
OLE_SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
ZIP_SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
ARCHIVE_PARTS: tuple[tuple[str, Format], ...] = (("word/", "docx"), ("ppt/", "pptx"), ("xl/", "xlsx"))

# Of an archive, bytes: fifty thousand parts. Each becomes an object, and this runs in the server itself.
LARGEST_DIRECTORY = 4 * 1024 * 1024

NAME_LENGTH = 255
# Control characters, and those that only hide or reorder others: a name must read as what it is. Joiners
# stay, which emoji and some scripts need.
UNSEEN = re.compile(r"[\0-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
PDF_MARK_WITHIN = 1024  # readers accept bytes before the mark, and some mailers add them


def format_of(name: str, content: Path | bytes) -> Format:
    """How to read a file, by suffix and first bytes; where the two disagree, the bytes win.

    Raises UnsupportedFormat that names the file, what it is, and what is supported.
    """
    suffix = suffix_of(name)
    with _opened(content) as file:
        head = file.read(PDF_MARK_WITHIN)
        found = _format_in(name, head, file)
    by_suffix = SUFFIXES.get(suffix)
    if found is None and by_suffix is None:
        what = f"{suffix} files are" if suffix else "files without a suffix are"
        raise _unsupported(name, f"{what} not supported")
    if found is not None:
        return found
    assert by_suffix is not None
    if by_suffix in ("pdf", "docx", "pptx", "xlsx", "epub") and head:
        raise _unsupported(name, f"its content is not {by_suffix.upper()}")
    return by_suffix


def format_of_media_type(media_type: str) -> Format:
    """The format that was found when the file came in. Raises UnsupportedFormat."""
    for format in get_args(Format):
        if MEDIA_TYPES[format] == media_type:
            return format
    raise _unsupported(media_type, "this media type is not supported")


def stem_of(title: str) -> str:
    """A title without the suffix of a file that is read here."""
    suffix = suffix_of(title)
    return title[: -len(suffix)] if suffix in SUFFIXES and len(title) > len(suffix) else title


def suffix_of(name: str) -> str:
    """The suffix in lower case with its dot, or nothing."""
    found = re.search(r"\.[A-Za-z0-9]{1,10}$", name)
    return found.group().lower() if found else ""


def clean_name(name: str) -> str:
    """A file's name as a title: without its folders, otherwise as `clean_title`."""
    return clean_title(re.split(r"[/\\]", UNSEEN.sub("", name))[-1])


def clean_title(title: str) -> str:
    """No control or hidden characters, at most 255 characters, never empty; a long one keeps its suffix.

    The title is for people; files are kept under their hash.
    """
    title = " ".join(UNSEEN.sub("", title.encode("utf-8", "replace").decode("utf-8")).split())
    suffix = re.search(r"\.[A-Za-z0-9]{1,10}$", title)
    end = suffix.group() if suffix else ""
    stem = title[: len(title) - len(end)].strip(" .") or "untitled"
    return stem[: NAME_LENGTH - len(end)] + end


def _format_in(name: str, head: bytes, file: BinaryIO) -> Format | None:
    """What the content surely is; None for text, which only the suffix can tell apart."""
    if head.startswith(ZIP_SIGNATURES):
        return _format_of_archive(name, file)
    if b"%PDF-" in head and not head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "pdf" if head.lstrip().startswith(b"%PDF-") or suffix_of(name) == ".pdf" else None
    if suffix_of(name) not in SUFFIXES:
        return None  # the suffix says more about what it is than a signature does
    if head.startswith(OLE_SIGNATURE):
        why = "it is encrypted or of an Office before 2007"
        raise _unsupported(name, f"{why}; save it as .docx, .pptx or .xlsx without a password")
    for signature, what in SIGNATURES:
        # A few letters also begin a text; they are proof only before bytes that no text has.
        if head.startswith(signature) and not (signature.isalnum() and _is_printable(head)):
            raise _unsupported(name, f"its content is {what}")
    return None


def _format_of_archive(name: str, file: BinaryIO) -> Format:
    try:
        _refuse_long_directory(name, file)
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise _unsupported(name, "it is a damaged archive") from error
    for folder, format in ARCHIVE_PARTS:
        if any(part.startswith(folder) for part in names):
            return format
    if "META-INF/container.xml" in names:
        return "epub"
    raise _unsupported(name, "its content is a ZIP archive")


def _refuse_long_directory(name: str, file: BinaryIO) -> None:
    # The library's own reading of the end record: any other could be told another size than it is.
    library: Any = zipfile
    record = library._EndRecData(file)
    if record and record[library._ECD_SIZE] > LARGEST_DIRECTORY:
        raise _unsupported(name, "it is an archive of too many parts")


def _is_printable(head: bytes) -> bool:
    return not re.search(rb"[\0-\x08\x0e-\x1f]", head)


def _unsupported(name: str, why: str) -> UnsupportedFormat:
    return UnsupportedFormat(
        f"{clean_name(name)}: {why}. Supported are {', '.join(SUPPORTED)}.",
        details={"name": clean_name(name), "supported": [*SUPPORTED]},
    )


def _opened(content: Path | bytes) -> BinaryIO:
    return io.BytesIO(content) if isinstance(content, bytes) else content.open("rb")
