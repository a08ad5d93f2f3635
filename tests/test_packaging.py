"""The wheel holds what the repository holds."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOT_SHIPPED = {"bench", "build", "dist", "docs", "examples", "node_modules", "notebooks", "scripts", "tests"}


def test_every_package_is_listed_in_pyproject() -> None:
    # `package-dir` maps the repo root, so setuptools cannot discover packages, and a
    # forgotten one imports fine here but is missing from the wheel.
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = [
        ".".join(["headrace", *init.parent.relative_to(ROOT).parts])
        for init in ROOT.glob("[a-z]*/**/__init__.py")
        if init.relative_to(ROOT).parts[0] not in NOT_SHIPPED
    ]
    assert sorted(listed) == sorted(["headrace", *found])


def test_the_type_checker_sees_the_package_under_its_own_name() -> None:
    assert os.readlink(ROOT / ".typings" / "headrace") == ".."


def test_constraints_pin_exact_versions_and_name_no_host() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert pins
    assert all("==" in pin and "/" not in pin and "@" not in pin for pin in pins)


@pytest.mark.integration  # builds in an environment of its own, for which pip fetches the build tool
def test_a_wheel_holds_the_page_the_samples_and_the_prompts(tmp_path: Path) -> None:
    # Of a copy: the build leaves folders behind.
    subprocess.run(["git", "clone", "-q", ROOT, tmp_path / "source"], check=True)
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path]
    subprocess.run([*pip, tmp_path / "source"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    for pattern in ("web/**/*", "examples/documents/*", "examples/questions.jsonl", "prompts/*.yaml"):
        wanted = {f"headrace/{path.relative_to(ROOT)}" for path in ROOT.glob(pattern) if path.is_file()}
        assert wanted
        assert wanted <= held, pattern
    assert not any(name.startswith(("headrace/tests", "headrace/.venv")) for name in held)
