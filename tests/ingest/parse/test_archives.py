import zipfile
from pathlib import Path

import docx
import pytest

from headrace.errors import Unreadable
from headrace.ingest.parse import parse
from headrace.ingest.parse.archives import opened_archive


def a_docx(folder: Path, extra: dict[str, bytes]) -> Path:
    path = folder / "a.docx"
    document = docx.Document()
    document.add_paragraph("Text.")
    document.save(str(path))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        for name, data in extra.items():
            archive.writestr(name, data)
    return path


def test_an_ordinary_file_is_opened(tmp_path: Path) -> None:
    with opened_archive(a_docx(tmp_path, {})) as archive:
        assert "word/document.xml" in archive.namelist()


def test_a_part_that_unpacks_too_well_is_refused(tmp_path: Path) -> None:
    path = a_docx(tmp_path, {"word/media/bomb.bin": bytes(20 * 1024 * 1024)})
    with pytest.raises(Unreadable, match="archive bomb") as caught:
        parse(path, "a.docx")
    assert caught.value.code == "archive_bomb"


def test_entities_are_refused_in_any_encoding(tmp_path: Path) -> None:
    for attack in (
        b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><x>&b;</x>',
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>'.encode("utf-16-le"),
    ):
        path = a_docx(tmp_path, {"word/settings2.xml": attack})
        with pytest.raises(Unreadable, match="entities"):
            parse(path, "a.docx")
        path.unlink()


def test_damage_is_named(tmp_path: Path) -> None:
    path = a_docx(tmp_path, {})
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(Unreadable, match="damaged"):
        parse(path, "a.docx", "docx")
