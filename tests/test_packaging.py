"""The wheel holds what the repository holds."""

import os
import tomllib
from pathlib import Path

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
