"""`headrace models`: which models are in use, which lie on disk, and more of them."""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import BadRequest, DependencyFailed
from ..models.flashrank_published import Published, published
from ..models.model_folders import NEEDED, folders_in, missing_in, size_of, unpack
from ..models.rerank import flashrank_folder, local_model, rerank_kind
from ..settings import EXTRACTIVE, Role, Settings
from .arguments import Commands, filled
from .output import OK, again, print_json, tell

EXTRA = "pip install 'headrace[rerank]'"


def add_to(commands: Commands) -> None:
    models = commands.group("models", "say which models there are, or fetch one")
    models.add("list", list_command, "what is in use, on disk, and to be had", json="print one JSON document")
    pull = models.add(
        "pull", pull_command, "fetch a reranking model, or unpack its archive", json="print one JSON document"
    )
    pull.add_argument("model", type=filled, metavar="NAME", help="as listed, or the path of a zip file")


def list_command(settings: Settings, arguments: argparse.Namespace) -> int:
    folder = flashrank_folder(settings)
    found = {
        "in_use": in_use(settings),
        "folder": str(folder),
        "on_disk": [
            {"name": model.name, "bytes": size_of(model), "missing": missing_in(model)}
            for model in folders_in(folder)
        ],
        "published": [
            {"name": one.name, "megabytes": one.megabytes, "about": one.about} for one in published()
        ],
    }
    if arguments.json:
        print_json(found)
    else:
        print("\n".join(_lines(found, again(arguments, "models pull NAME"))))
    return OK


def in_use(settings: Settings) -> Mapping[str, str]:
    """Who does what by the settings, without asking anybody."""
    return {
        "chat": _chat(settings),
        "understand": _at(settings, "understand")
        or ("the chat model" if settings.chat_base_url else "rules (built in)"),
        "embedding": _at(settings, "embedding") or "multilingual-e5-small (built in)",
        "rerank": _rerank(settings),
    }


def pull_command(settings: Settings, arguments: argparse.Namespace) -> int:
    folder = flashrank_folder(settings)
    given = Path(arguments.model).expanduser()
    if given.suffix == ".zip" or len(given.parts) > 1:
        model = _unpacked(given, folder)
    else:
        model = _pulled(arguments.model, folder)
    if arguments.json:
        print_json({"name": model.name, "folder": str(model), "bytes": size_of(model)})
    else:
        print(f"{model.name} is in {model} ({_megabytes(size_of(model))}).")
    used = rerank_kind(settings) == "flashrank" and local_model(settings) == model
    set_it = "" if used else f"HEADRACE_RERANK=flashrank and HEADRACE_RERANK_MODEL={model.name}, then "
    tell(f"A server uses it after {set_it}a restart.")
    return OK


def _unpacked(archive: Path, folder: Path) -> Path:
    if not archive.is_file():
        raise BadRequest(f"There is no file {archive}.", code="no_archive")
    return unpack(archive, folder)


def _pulled(name: str, folder: Path) -> Path:
    known = {one.name: one for one in published()}
    if not known:
        raise BadRequest(
            f"The list of models comes with the extra `rerank`: {EXTRA}. Or give the path of an archive: "
            f"headrace models pull /path/{name}.zip",
            code="extra_missing",
        )
    if name not in known:
        raise BadRequest(f"There is no model {name!r}, there is {', '.join(known)}.", code="unknown_model")
    if (folder / name).is_dir() and not missing_in(folder / name):
        return folder / name
    return _fetched(known[name], folder)


def _fetched(model: Published, folder: Path) -> Path:
    from ..models.fetching import fetch

    archive = folder / f"{model.name}.zip"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _Bar(model.name) as bar:
            digest = fetch(model.url, archive, progress=bar.show)
        tell(f"sha256 {digest}")
        return unpack(archive, folder, name=model.name)
    except OSError as error:
        raise BadRequest(f"{folder} cannot be written: {error.strerror}.", code="not_writable") from error
    except DependencyFailed as error:
        raise DependencyFailed(
            "download",
            f"{error.message} Where there is a network, fetch that file; then here: headrace models pull "
            f"/path/{archive.name}. Or put its files ({', '.join(NEEDED)} and the *.onnx) into "
            f"{folder / model.name}.",
            code=error.code,
        ) from error
    finally:
        archive.unlink(missing_ok=True)


class _Bar:
    """Progress on stderr, where that is a terminal."""

    def __init__(self, name: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        self._progress = Progress(*columns, console=console, disable=not console.is_terminal)
        self._task = self._progress.add_task(name, total=None)

    def __enter__(self) -> "_Bar":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, done: int, total: int) -> None:
        self._progress.update(self._task, completed=done, total=total or None)


def _chat(settings: Settings) -> str:
    if settings.chat_model == EXTRACTIVE:
        return f"{EXTRACTIVE} (built in)"
    if at := _at(settings, "chat"):
        return at
    if settings.chat_gguf:
        return f"{settings.chat_gguf.name}, on this machine"
    return f"{EXTRACTIVE} (built in)"


def _rerank(settings: Settings) -> str:
    match rerank_kind(settings):
        case "none":
            return "none: the scores of the search decide"
        case "flashrank":
            model = local_model(settings)
            return f"{model.name}, on this machine" if model else "FlashRank, but its model is not on disk"
        case "llm":
            return "the chat model orders passages"
        case "http" | "dashscope" as kind:
            return f"{_at(settings, 'rerank') or 'no address'} ({kind})"


def _at(settings: Settings, role: Role) -> str:
    endpoint = settings.endpoint(role)
    return f"{endpoint.model or 'the first model'} at {endpoint.address}" if endpoint else ""


def _lines(found: Mapping[str, Any], pulling: str) -> Iterator[str]:
    for role, what in found["in_use"].items():
        yield f"{role:<12}{what}"
    yield f"\nReranking models in {found['folder']}:"
    for model in found["on_disk"]:
        missing = f", not usable: it lacks {', '.join(model['missing'])}" if model["missing"] else ""
        yield f"  {model['name']:<26}{_megabytes(model['bytes'])}{missing}"
    if not found["on_disk"]:
        yield "  none"
    if found["published"]:
        yield f"\nMore can be had ({pulling}):"
    else:
        yield f"\nMore can be had with the extra `rerank`: {EXTRA}"
    there = {model["name"] for model in found["on_disk"] if not model["missing"]}
    for model in found["published"]:
        if model["name"] not in there:
            size = f"about {model['megabytes']} MB" if model["megabytes"] else ""
            yield f"  {model['name']:<26}{size:<14}{model['about']}".rstrip()


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
