import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headrace.errors import NotFound
from headrace.stores.files import OriginalFiles

pytestmark = pytest.mark.anyio

CONTENT = "员工手册 handbook".encode()
SHA256 = hashlib.sha256(CONTENT).hexdigest()


async def pieces(*parts: bytes, fails: bool = False) -> AsyncIterator[bytes]:
    for part in parts:
        yield part
    if fails:
        raise ConnectionError("断开了")


def files_below(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file()]


async def test_bytes_files_and_streams_give_the_same_original(tmp_path: Path) -> None:
    files = OriginalFiles(tmp_path / "files")
    source = tmp_path / "手册.txt"
    source.write_bytes(CONTENT)
    assert await files.save(CONTENT) == SHA256
    assert await files.save(source) == SHA256
    assert await files.save(pieces(CONTENT[:3], CONTENT[3:])) == SHA256
    assert files.path(SHA256) == tmp_path / "files" / SHA256[:2] / SHA256
    assert files.path(SHA256).read_bytes() == CONTENT == source.read_bytes()


async def test_an_empty_file_is_a_file(tmp_path: Path) -> None:
    files = OriginalFiles(tmp_path)
    assert files.path(await files.save(b"")).read_bytes() == b""


async def test_a_broken_stream_leaves_nothing(tmp_path: Path) -> None:
    files = OriginalFiles(tmp_path)
    with pytest.raises(ConnectionError):
        await files.save(pieces(CONTENT, fails=True))
    assert files_below(tmp_path) == []


async def test_deleting_twice_is_fine(tmp_path: Path) -> None:
    files = OriginalFiles(tmp_path)
    await files.save(CONTENT)
    await files.delete(SHA256)
    await files.delete(SHA256)
    assert not files.path(SHA256).exists()


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "A" * 64, "手册.txt", SHA256 + "\n"])
def test_only_a_hash_is_a_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotFound):
        OriginalFiles(tmp_path).path(name)


async def test_what_a_crash_left_is_cleared_at_start(tmp_path: Path) -> None:
    files = OriginalFiles(tmp_path)
    await files.save(CONTENT)
    (tmp_path / "partial" / "half").write_bytes(b"x")
    await files.clear_partial()
    assert files_below(tmp_path) == [SHA256]
    assert await files.save(b"again")
