"""Originals by the hash of their bytes: `files/<first two digits>/<sha256>`. Names are never paths."""

import hashlib
import os
import re
import shutil
from collections.abc import AsyncIterable, AsyncIterator
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from ..errors import NotFound
from ..ids import new_id

PIECE = 1 << 20


class OriginalFiles:
    """Keeps bytes once, however often they are added."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._partial = folder / "partial"

    async def save(self, content: bytes | Path | AsyncIterable[bytes]) -> str:
        """Store bytes, a copy of a file, or a stream as it arrives. Returns the sha256.

        The file has its name only when it is whole and on the disk. When the stream fails, nothing stays.
        """
        digest = hashlib.sha256()
        await run_sync(lambda: self._partial.mkdir(parents=True, exist_ok=True))
        partial = self._partial / new_id()
        try:
            async with await anyio.open_file(partial, "wb") as file:
                async for piece in _pieces(content):
                    digest.update(piece)
                    await file.write(piece)
                await file.flush()
                await run_sync(os.fsync, file.wrapped.fileno())
            await run_sync(self._settle, partial, digest.hexdigest())
        finally:
            # Without awaiting: this also runs when the task has been cancelled.
            partial.unlink(missing_ok=True)
        return digest.hexdigest()

    def path(self, sha256: str) -> Path:
        """Where the original is, or would be. Raises NotFound for what is no sha256."""
        if not re.fullmatch(r"[0-9a-f]{64}", sha256):
            raise NotFound("no such file", code="file_not_found")
        return self._folder / sha256[:2] / sha256

    async def delete(self, sha256: str) -> None:
        """Remove the original; one that is gone already is fine."""
        path = self.path(sha256)
        await run_sync(lambda: path.unlink(missing_ok=True))

    async def hashes(self) -> set[str]:
        """The sha256 of every original that is kept."""
        return await run_sync(lambda: {path.name for path in self._folder.glob("[0-9a-f][0-9a-f]/*")})

    async def clear_partial(self) -> None:
        """Remove what a crash during `save` left. Only at start: it would break a running one."""
        await run_sync(lambda: shutil.rmtree(self._partial, ignore_errors=True))

    def _settle(self, partial: Path, sha256: str) -> None:
        path = self.path(sha256)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.replace(path)


async def _pieces(content: bytes | Path | AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    if isinstance(content, bytes):
        yield content
    elif isinstance(content, Path):
        async with await anyio.open_file(content, "rb") as file:
            while piece := await file.read(PIECE):
                yield piece
    else:
        async for piece in content:
            yield piece
