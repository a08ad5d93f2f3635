"""Many tasks in one folder, as `tasks.json` in it lists them."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from .files import BadTask, Corpus, Questions, read_corpus, read_faq, read_questions

LIST = "tasks.json"


class ListedTask(BaseModel):
    """One row of the list; paths are relative to its folder.

    `group` is what tasks with the same questions share, `mixed` says that other tasks' texts are among those
    that are searched.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    group: str = ""
    corpus: str | None = None
    faq: str | None = None
    queries: str
    qrels: str
    min_relevance: int = Field(1, ge=1)
    mixed: bool = False

    @property
    def searched(self) -> str:
        return self.corpus or self.faq or ""

    def read_corpus(self, folder: Path) -> Corpus:
        """Raises BadTask, as all here."""
        if (self.corpus is None) == (self.faq is None):
            raise BadTask(f"Task {self.name}: one of corpus and faq.")
        return read_corpus(folder / self.corpus) if self.corpus else read_faq(folder / self.searched)

    def read_questions(self, folder: Path) -> Questions:
        return read_questions(folder / self.queries, folder / self.qrels)


def read_list(folder: Path, only: Sequence[str] = ()) -> list[ListedTask]:
    """The tasks of a folder, or those of them that are named, in the order of the list."""
    path = folder / LIST
    try:
        listed = TypeAdapter(list[ListedTask]).validate_python(json.loads(path.read_text("utf-8")))
    except OSError as error:
        raise BadTask(f"{path} cannot be read: {error.strerror}.") from error
    except (ValidationError, ValueError) as error:
        raise BadTask(f"{path} is not a list of tasks: {error}") from error
    if unknown := {*only} - {task.name for task in listed}:
        raise BadTask(f"{path} has no task {', '.join(sorted(unknown))}.")
    return [task for task in listed if not only or task.name in only]


def laid_out(tasks: Path, into: Path, *, split: str | None = None) -> Path:
    """The folder of the tasks: `tasks` itself, or `into`, where that is a program that lays them out."""
    if tasks.is_dir():
        return tasks
    chosen = ["--split", split] if split else []
    done = subprocess.run([sys.executable, tasks, into, *chosen], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BadTask(f"{tasks} did not lay out its tasks: {done.stderr.strip()[-500:]}")
    return into
