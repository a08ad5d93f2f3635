import stat
import zipfile
from pathlib import Path

import pytest

from headrace.errors import BadRequest
from headrace.models.model_folders import NEEDED, best_of, folders_in, missing_in, size_of, unpack

FILES = {name: b"{}" for name in (*NEEDED, "模型.onnx", "vocab.txt")}


def an_archive(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def below(folder: str) -> dict[str, bytes]:
    return {f"{folder}/{name}": content for name, content in FILES.items()}


def test_an_archive_with_a_folder_gives_the_model_its_name(tmp_path: Path) -> None:
    extra = {"__MACOSX/x": b"x", "tiny/.DS_Store": b"x"}
    made = unpack(an_archive(tmp_path / "download.zip", below("tiny") | extra), tmp_path / "models")
    assert made == tmp_path / "models" / "tiny"
    assert sorted(path.name for path in made.iterdir()) == sorted(FILES)
    assert folders_in(tmp_path / "models") == [made]
    assert (missing_in(made), size_of(made)) == ([], 12)


def test_one_without_a_folder_is_named_after_itself_or_as_asked(tmp_path: Path) -> None:
    archive = an_archive(tmp_path / "small.zip", FILES)
    assert unpack(archive, tmp_path / "models").name == "small"
    assert unpack(archive, tmp_path / "models", name="other").name == "other"


def test_a_model_of_that_name_is_replaced_whole(tmp_path: Path) -> None:
    models = tmp_path / "models"
    unpack(an_archive(tmp_path / "a.zip", below("tiny") | {"tiny/old.txt": b"x"}), models)
    unpack(an_archive(tmp_path / "b.zip", below("tiny")), models)
    assert not (models / "tiny" / "old.txt").exists()
    assert [path.name for path in models.iterdir()] == ["tiny"]


@pytest.mark.parametrize(
    "name", ["../out.txt", "/etc/out.txt", "tiny/../../out.txt", "..\\out.txt", "C:\\out.txt", "C:/out.txt"]
)
def test_nothing_lands_outside_the_folder(tmp_path: Path, name: str) -> None:
    archive = an_archive(tmp_path / "bad.zip", below("tiny") | {name: b"x"})
    with pytest.raises(BadRequest, match="outside its folder"):
        unpack(archive, tmp_path / "models")
    assert [*(tmp_path / "models").iterdir()] == []


def test_links_are_refused(tmp_path: Path) -> None:
    archive = an_archive(tmp_path / "bad.zip", below("tiny"))
    with zipfile.ZipFile(archive, "a") as opened:
        link = zipfile.ZipInfo("tiny/link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        opened.writestr(link, "/etc/passwd")
    with pytest.raises(BadRequest, match="outside its folder"):
        unpack(archive, tmp_path / "models")


@pytest.mark.parametrize("lost", ["tokenizer.json", "模型.onnx"])
def test_an_archive_without_a_whole_model_changes_nothing(tmp_path: Path, lost: str) -> None:
    models = tmp_path / "models"
    unpack(an_archive(tmp_path / "a.zip", below("tiny")), models)
    files = {f"tiny/{name}": b"new" for name in FILES if name != lost}
    with pytest.raises(BadRequest, match="it lacks"):
        unpack(an_archive(tmp_path / "b.zip", files), models)
    assert (models / "tiny" / "config.json").read_bytes() == b"{}"
    assert [path.name for path in models.iterdir()] == ["tiny"]


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    archive = an_archive(tmp_path / "half.zip", below("tiny") | {"tiny/large.bin": bytes(range(256)) * 999})
    archive.write_bytes(archive.read_bytes()[:-40])
    with pytest.raises(BadRequest, match=r"half\.zip cannot be unpacked"):
        unpack(archive, tmp_path / "models")


def test_damaged_content_is_found(tmp_path: Path) -> None:
    archive = tmp_path / "bad.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as opened:
        for name, content in (below("tiny") | {"tiny/weights.onnx": b"weights" * 100}).items():
            opened.writestr(name, content)
    archive.write_bytes(archive.read_bytes().replace(b"weights" * 100, b"weighty" * 100))
    with pytest.raises(BadRequest, match="damaged"):
        unpack(archive, tmp_path / "models")


@pytest.mark.parametrize("content", [b"", b"<html></html>"])
def test_what_is_no_archive_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "page.zip").write_bytes(content)
    with pytest.raises(BadRequest, match="no zip file"):
        unpack(tmp_path / "page.zip", tmp_path / "models")


@pytest.mark.parametrize("top", [".hidden", "名字", "a b"])
def test_a_name_that_is_no_folder_s_is_refused(tmp_path: Path, top: str) -> None:
    with pytest.raises(BadRequest, match="no name for a model"):
        unpack(an_archive(tmp_path / "x.zip", below(top)), tmp_path / "models")


def test_a_folder_that_is_not_there_holds_no_models(tmp_path: Path) -> None:
    assert folders_in(tmp_path / "none") == []
    assert best_of([]) is None
