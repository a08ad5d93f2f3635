"""Forty kills at random moments, twenty at a time: nothing lost, nothing doubled, nothing left in half.

The kills are drawn anew in every run. HEADRACE_CRASH_SEED=N draws those of an earlier one again, whose number
is in the output of the failure.
"""

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
KILLS = 20
LIMIT_S = 280  # below the limit of a hanging test, which would end the whole suite


@pytest.mark.parametrize("part", [1, 2])
def test_a_server_that_is_killed_again_and_again_loses_nothing(tmp_path: Path, part: int) -> None:
    seed = int(os.environ.get("HEADRACE_CRASH_SEED") or secrets.randbelow(1_000_000)) + part - 1
    print(f"bench/crash.py --kills {KILLS} --seed {seed}")
    ended = subprocess.run(
        [
            *(sys.executable, ROOT / "bench" / "crash.py"),
            *("--kills", str(KILLS), "--seed", str(seed), "--keep", tmp_path),
        ],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    print(ended.stderr[-5000:])
    assert ended.returncode == 0
    result = json.loads(ended.stdout)
    assert result["kills"] == KILLS
    assert result["violations"] == {}
    assert result["ends"]["complete"] > 0
