"""The modules of the page that need no browser, under node's own test runner; and what is vendored."""

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
WEB = HERE.parents[1] / "web"
VENDOR = WEB / "vendor"


def test_the_pure_modules_pass_their_tests_in_node() -> None:
    node = shutil.which("node")
    if not node:
        pytest.skip("no node here: the pure modules of the page are tested in the browser only")
    files = sorted(map(str, HERE.glob("*.test.mjs")))
    done = subprocess.run([node, "--test", *files], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-8000:]


def test_vendored_files_are_the_ones_the_table_names() -> None:
    table = (VENDOR / "README.md").read_text(encoding="utf-8")
    named = dict(re.findall(r"^\| `([^`]+\.js)` .*`([0-9a-f]{64})` \|$", table, flags=re.MULTILINE))
    found = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in VENDOR.glob("*.js")}
    assert named == found


def test_every_vendored_file_has_its_licence_beside_it() -> None:
    assert all((VENDOR / f"{file.stem}.LICENSE").is_file() for file in VENDOR.glob("*.js"))


def test_the_page_names_no_other_server_and_holds_nothing_its_policy_refuses() -> None:
    html = (WEB / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"https?:", html)
    assert not re.search(r"\s(style|on\w+)=", html)
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style", html)
    names = [*re.findall(r"""(?:src|href)="([^"#]+)\"""", html)]
    assert names
    assert all((WEB / name).is_file() for name in names)


def test_every_import_of_the_page_exists() -> None:
    for module in set(WEB.rglob("*.js")) - set(VENDOR.iterdir()):
        for name in re.findall(r"""from "(\.[^"]+)";""", module.read_text(encoding="utf-8")):
            assert (module.parent / name).is_file(), f"{module.name} imports {name}"
