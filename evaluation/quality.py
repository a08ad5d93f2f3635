"""Retrieval measured over a whole folder of tasks: `scripts/quality` (docs/evaluation.md)."""

import argparse
import asyncio
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import Manager, get_context
from pathlib import Path
from queue import Empty, Queue
from tempfile import TemporaryDirectory
from typing import Any

from ..errors import HeadraceError
from ..settings import Settings, load_settings
from .embeddings import cache_file
from .measure import ask_all, measured_with, opened_bench
from .page import compared, measured, write_between
from .report import report
from .suite import LIST, ListedTask, laid_out, read_list

Told = tuple[str, str, int, int]  # configuration and corpus, what is done, how many of it, of how many

DEFAULT = "default"
WAIT_S = 0.5
REPORTS = "reports"


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """`file` is None where nothing is configured but what the environment says."""

    name: str
    file: Path | None

    def settings(self, folder: Path) -> Settings:
        """Raises StartRefused."""
        return load_settings(config=self.file, data=folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Tasks over one corpus with one configuration: it is indexed once for all of them."""

    configuration: Configuration
    tasks: Sequence[ListedTask]
    folder: Path
    out: Path
    cache: Path
    marks: Mapping[str, str]  # by task: of everything that its figures come from

    @property
    def name(self) -> str:
        return f"{self.configuration.name}: {self.tasks[0].searched}"

    def report_file(self, task: ListedTask) -> Path:
        return self.out / REPORTS / self.configuration.name / f"{task.name}.json"


def main() -> int:
    arguments = _arguments()
    try:
        configurations = _configurations(arguments.config)
        folder = laid_out(arguments.tasks, arguments.out / "tasks", split=arguments.split)
        tasks = read_list(folder, arguments.only)
        jobs = [*_jobs(configurations, tasks, folder, arguments)]
        _measure([job for job in jobs if job.tasks], workers=arguments.jobs)
        found = {one.name: _reports(one, tasks, arguments.out) for one in configurations}
        text = "\n\n".join(measured(tasks, reports, name=name) for name, reports in found.items())
        if len(found) == 2:
            text += "\n\n" + compared(tasks, *found.values(), names=[*found])
        print(text)
        if arguments.write:
            write_between(arguments.write, text)
    except HeadraceError as error:
        print(error.message, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/quality", description=__doc__)
    parser.add_argument(
        "tasks", type=Path, help=f"a folder with {LIST}, or the program that lays one out into a folder"
    )
    parser.add_argument("--split", help="handed on to that program")
    parser.add_argument("--only", nargs="+", default=[], metavar="TASK", help="these tasks instead of all")
    parser.add_argument(
        "--config",
        action="append",
        metavar="FILE",
        help=f"settings; named twice, both are measured and compared; {DEFAULT!r}: none",
    )
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="corpora measured at once (2)")
    parser.add_argument("--cache", type=Path, default=cache_file(), metavar="FILE", help="of vectors")
    parser.add_argument(
        "--out",
        type=Path,
        default=cache_file().with_name("quality"),
        metavar="FOLDER",
        help="where reports are kept: what is there and still holds is not measured again",
    )
    parser.add_argument("--write", type=Path, metavar="PAGE", help="also put it between that page's markers")
    return parser.parse_args()


def _configurations(files: Sequence[str] | None) -> list[Configuration]:
    return [
        Configuration(name=DEFAULT, file=None)
        if file == DEFAULT
        else Configuration(name=Path(file).stem, file=Path(file).absolute())
        for file in files or [DEFAULT]
    ]


def _jobs(
    configurations: Sequence[Configuration],
    tasks: Sequence[ListedTask],
    folder: Path,
    arguments: argparse.Namespace,
) -> Iterator[Job]:
    """The largest corpora first, so that none is left over at the end."""
    source = _source()
    corpora = sorted({task.searched for task in tasks}, key=lambda name: (-_size(folder / name), name))
    for corpus in corpora:
        for configuration in configurations:
            about = f"{source} {_settings_mark(configuration)}"
            marks = {task.name: _mark(about, task, folder) for task in tasks if task.searched == corpus}
            job = Job(
                configuration=configuration,
                tasks=[task for task in tasks if task.name in marks],
                folder=folder,
                out=arguments.out,
                cache=arguments.cache,
                marks=marks,
            )
            missing = [task for task in job.tasks if not _holds(job, task)]
            yield Job(
                configuration=configuration,
                tasks=missing,
                folder=folder,
                out=job.out,
                cache=job.cache,
                marks=marks,
            )


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _source() -> str:
    """A hash of the program itself: figures of another one do not hold."""
    root = Path(__file__).parents[1]
    packages = sorted(path.parent for path in root.glob("*/__init__.py"))
    files = [*sorted(root.glob("*.py"))]
    for package in packages:
        files += sorted(path for path in package.rglob("*") if path.suffix in (".py", ".yaml"))
    return _hash(*(path.read_bytes() for path in files))


def _settings_mark(configuration: Configuration) -> str:
    with TemporaryDirectory() as folder:
        settings = configuration.settings(Path(folder)).model_copy(update={"data": Path()})
    return settings.model_dump_json()


def _mark(about: str, task: ListedTask, folder: Path) -> str:
    files = [folder / name for name in (task.searched, task.queries, task.qrels)]
    return _hash(about.encode(), task.model_dump_json().encode(), *map(_bytes, files))


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def _hash(*parts: bytes) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "big") + part)
    return whole.hexdigest()


def _holds(job: Job, task: ListedTask) -> bool:
    return _read(job.report_file(task)).get("mark") == job.marks[task.name]


def _read(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}


def _reports(
    configuration: Configuration, tasks: Sequence[ListedTask], out: Path
) -> dict[str, Mapping[str, Any]]:
    folder = out / REPORTS / configuration.name
    return {task.name: _read(folder / f"{task.name}.json") for task in tasks}


def _measure(jobs: Sequence[Job], *, workers: int) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    if not jobs:
        return
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # Spawned: threads and models of this process are not for a copy of it.
    with (
        Manager() as manager,
        ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool,
        Progress(*columns, console=console, disable=not console.is_terminal) as bars,
    ):
        told: Queue[Told] = manager.Queue()
        lines = {job.name: bars.add_task(job.name, total=None) for job in jobs}
        running = [pool.submit(_run, job, told) for job in jobs]
        while not all(one.done() for one in running):
            try:
                name, what, done, total = told.get(timeout=WAIT_S)
            except Empty:
                continue
            bars.update(lines[name], description=f"{name}, {what}", completed=done, total=total)
            if done == total and not console.is_terminal:
                print(f"{name}, {what}", file=sys.stderr, flush=True)
        _raise_first(running)


def _raise_first(futures: Sequence[Future[None]]) -> None:
    for future in futures:
        future.result()


def _run(job: Job, told: "Queue[Told]") -> None:
    """In a process of its own."""
    asyncio.run(_measured(job, told))


async def _measured(job: Job, told: "Queue[Told]") -> None:
    def tell(what: str, done: int, total: int) -> None:
        told.put((job.name, what, done, total))

    with TemporaryDirectory() as folder:
        settings = job.configuration.settings(Path(folder))
    corpus = job.tasks[0].read_corpus(job.folder)
    async with opened_bench(corpus, settings, cache=job.cache, progress=tell) as bench:
        for task in job.tasks:
            questions = task.read_questions(job.folder)
            results = await ask_all(
                bench,
                questions.queries,
                understanding=False,
                progress=lambda _, done, total, name=task.name: tell(name, done, total),
            )
            found = report(
                results, questions.grades, least=task.min_relevance, config=measured_with(settings)
            )
            _write(job.report_file(task), found | {"mark": job.marks[task.name]})
            tell(task.name, len(results), len(results))


def _write(path: Path, found: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_suffix(".part")  # what is stopped here is measured again, not read half
    half.write_text(json.dumps(found, ensure_ascii=False), "utf-8")
    half.rename(path)


if __name__ == "__main__":
    sys.exit(main())
