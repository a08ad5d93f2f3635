"""The data folder has one owner: a process that holds `headrace.lock` and serves the folder over HTTP."""

import contextlib
import errno
import fcntl
import json
import os
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from .errors import StartRefused

LOCK_FILE = "headrace.lock"
# An owner that starts or ends holds the lock for a moment without an address in it.
ADDRESS_WAIT_S = 2.0
# Longer than `running_owner` holds it: a glance must not keep a server from starting.
GLANCE_S = 0.1
OTHERS = 0o077


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The process that serves a data folder, and where."""

    pid: int
    url: str


class FolderTaken(StartRefused):
    """Another process owns the data folder; `owner` is None while it is still starting."""

    code = "folder_taken"

    def __init__(self, folder: Path, owner: Owner | None) -> None:
        who = f"process {owner.pid} at {owner.url}" if owner else "a process that is just starting"
        super().__init__(
            f"{folder} is already served by {who}. Use that server, stop it first, or give another folder "
            f"with --data.",
            details={"pid": owner.pid, "url": owner.url} if owner else {},
        )
        self.owner = owner


@contextlib.contextmanager
def own_folder(folder: Path, *, url: str) -> Generator[None]:
    """Create the folder if needed (0700) and hold its lock: the kernel frees it however the process ends.

    What is made meanwhile is its user's alone, also in a folder that others may enter: the stores' libraries
    take the mode of their files from the process.

    Raises FolderTaken with the owner's pid and address, StartRefused when the folder cannot be written.
    """
    mask = os.umask(OTHERS)
    try:
        with _locked(folder, url):
            yield
    finally:
        os.umask(mask)


@contextlib.contextmanager
def _locked(folder: Path, url: str) -> Generator[None]:
    lock = _open_lock(folder)
    try:
        _take(lock, folder, fcntl.LOCK_EX)
        os.ftruncate(lock, 0)
        os.pwrite(lock, json.dumps({"pid": os.getpid(), "url": url}).encode(), 0)
        try:
            yield
        finally:
            # Emptied, not removed: another process may have it open and wait for this very lock.
            os.ftruncate(lock, 0)
    finally:
        os.close(lock)


def _open_lock(folder: Path) -> int:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A link is not followed: what it leads to would be emptied and written over.
        lock = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _not_usable(folder, str(error.strerror)) from error
    # The lock file may be there from before: then it can be opened, but nothing can be made beside it.
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
        os.close(lock)
        raise _not_usable(folder, os.strerror(errno.EACCES))
    return lock


def _not_usable(folder: Path, why: str) -> StartRefused:
    return StartRefused(
        f"The data folder {folder} cannot be used: {why}. Give a folder that you may write to with --data or "
        "HEADRACE_DATA.",
        code="folder_not_writable",
    )


def running_owner(folder: Path) -> Owner | None:
    """The process that serves the folder now; None when nobody does. Raises FolderTaken as `own_folder`."""
    try:
        lock = os.open(folder / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        _take(lock, folder, fcntl.LOCK_SH)
    except FolderTaken as taken:
        if taken.owner is None:
            raise
        return taken.owner
    finally:
        os.close(lock)
    return None


def _take(lock: int, folder: Path, mode: int) -> None:
    start = time.monotonic()
    while True:
        try:
            return fcntl.flock(lock, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            waited, owner = time.monotonic() - start, _read_owner(folder)
            if waited > ADDRESS_WAIT_S or (owner and waited > GLANCE_S):
                raise FolderTaken(folder, owner) from None
            time.sleep(0.05)


def _read_owner(folder: Path) -> Owner | None:
    """Who wrote the lock file last. Whether that process still holds it only the lock itself can tell."""
    try:
        known = json.loads((folder / LOCK_FILE).read_bytes())
        return Owner(pid=int(known["pid"]), url=str(known["url"]))
    except (ValueError, KeyError, TypeError, OSError):
        return None
