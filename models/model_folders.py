"""Model files on disk: what lies there, what is missing, and how an archive of them gets there."""

import re
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from ..errors import BadRequest

# What FlashRank opens, besides the model itself.
NEEDED = ("tokenizer.json", "config.json", "tokenizer_config.json", "special_tokens_map.json")
# Of several models the one that reads both languages; of the English ones the better.
PREFERRED = ("ms-marco-MultiBERT-L-12", "ms-marco-MiniLM-L-12-v2", "rank-T5-flan")

MOST_UNPACKED = 4 * 1024**3  # bytes
MOST_FILES = 200
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_LEFT_OUT = ("__MACOSX", ".DS_Store")


def folders_in(folder: Path) -> list[Path]:
    """Each model has a folder, named like it."""
    if not folder.is_dir():
        return []
    return sorted(found for found in folder.iterdir() if found.is_dir() and _NAME.fullmatch(found.name))


def model_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.onnx"))


def missing_in(folder: Path) -> list[str]:
    """Names of the files that a model's folder lacks."""
    missing = [name for name in NEEDED if not (folder / name).is_file()]
    return missing if model_files(folder) else [*missing, "a model file (*.onnx)"]


def best_of(folders: Sequence[Path]) -> Path | None:
    """The model to use where none is named; None where none is whole."""
    whole = {folder.name: folder for folder in folders if not missing_in(folder)}
    return next((whole[name] for name in PREFERRED if name in whole), next(iter(whole.values()), None))


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def unpack(archive: Path, folder: Path, *, name: str | None = None) -> Path:
    """Put the model of a zip file into `folder` under `name`, by default that of its one folder, or its own.

    A model of that name is replaced, at once, after the new one has been looked through. Raises BadRequest
    (bad_archive): no zip file, damaged, files that would land elsewhere, too large, no model in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=folder) as beside:
        try:
            with zipfile.ZipFile(archive) as opened:
                members = _members(opened, archive)
                top = _common_folder(members)
                name = name or top or archive.stem
                if not _NAME.fullmatch(name):
                    raise _bad(archive, f"{name!r} is no name for a model")
                _extract(opened, members, Path(beside) / "new", below=top)
        except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
            raise _bad(archive, f"it is damaged or no zip file ({error})") from error
        except OSError as error:
            raise _bad(archive, error.strerror or str(error)) from error
        if missing := missing_in(Path(beside) / "new"):
            raise _bad(archive, f"it lacks {', '.join(missing)}")
        _replace(folder / name, Path(beside))
    return folder / name


def _members(opened: zipfile.ZipFile, archive: Path) -> list[zipfile.ZipInfo]:
    """The files of an archive, looked at before any of them is written."""
    found = [one for one in opened.infolist() if not one.is_dir() and not _is_left_out(one.filename)]
    for one in found:
        path = PurePosixPath(one.filename.replace("\\", "/"))
        outside = path.is_absolute() or ".." in path.parts or ":" in one.filename or "\0" in one.filename
        if outside or stat.S_ISLNK(one.external_attr >> 16):
            raise _bad(archive, f"{one.filename!r} would land outside its folder")
    if len(found) > MOST_FILES or sum(one.file_size for one in found) > MOST_UNPACKED:
        raise _bad(archive, f"it holds more than {MOST_FILES} files or {MOST_UNPACKED // 1024**3} GB")
    return found


def _is_left_out(name: str) -> bool:
    return any(part in _LEFT_OUT for part in PurePosixPath(name).parts)


def _common_folder(members: Sequence[zipfile.ZipInfo]) -> str:
    """The folder that all files lie in; empty where they lie at the top."""
    parts = [PurePosixPath(one.filename).parts for one in members]
    tops = {path[0] if len(path) > 1 else "" for path in parts}
    return tops.pop() if len(tops) == 1 else ""


def _extract(opened: zipfile.ZipFile, members: Sequence[zipfile.ZipInfo], to: Path, *, below: str) -> None:
    left = MOST_UNPACKED
    for one in members:
        path = to / PurePosixPath(one.filename).relative_to(below or ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        with opened.open(one) as source, path.open("xb") as target:
            # The sizes that an archive states need not be true.
            while piece := source.read(1024 * 1024):
                left -= len(piece)
                if left < 0:
                    raise ValueError(f"more than {MOST_UNPACKED // 1024**3} GB")
                target.write(piece)


def _replace(target: Path, beside: Path) -> None:
    if target.exists():
        target.rename(beside / "old")
    shutil.move(beside / "new", target)


def _bad(archive: Path, why: str) -> BadRequest:
    return BadRequest(f"{archive.name} cannot be unpacked: {why}.", code="bad_archive")
