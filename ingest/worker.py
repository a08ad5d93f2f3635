"""The process in which files are parsed: limited in memory and time, unable to write files.

`python -m headrace.ingest.worker MEMORY_MB TIMEOUT_S` reads requests from standard input and answers on
standard output, each a JSON object after its length in 4 bytes. It loads nothing but parsers.
"""

import json
import os
import resource
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import HeadraceError
from .parse import parse
from .parsed import to_json

LENGTH_BYTES = 4
GRACE_S = 5  # the parent kills first; the alarm is for a parent that is gone
OPEN_FILES = 64
MOST_KEPT = 0.5  # of the allowed memory: half of it left is enough for all but the largest files
MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes elsewhere
DEEPEST = 10_000  # frames: pages nest deeper than Python's default allows


def main() -> None:
    memory_mb, timeout_s = int(sys.argv[1]), float(sys.argv[2])
    # Libraries may print; only answers go where the parent reads.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _limit(memory_mb)
    while (request := _read(sys.stdin.buffer)) is not None:
        signal.setitimer(signal.ITIMER_REAL, timeout_s + GRACE_S)
        answer = _answer(request)
        _write(answers, {**answer, "spent": _is_spent(answer, memory_mb)})
        signal.setitimer(signal.ITIMER_REAL, 0)


def _limit(memory_mb: int) -> None:
    sys.setrecursionlimit(DEEPEST)
    for limit, value in (
        (resource.RLIMIT_AS, memory_mb * 1024 * 1024),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
    ):
        try:
            resource.setrlimit(limit, (value, value))
        except (ValueError, OSError):
            continue  # not on every system; the time limit holds everywhere


def _answer(request: Mapping[str, Any]) -> dict[str, Any]:
    try:
        if "faq" in request:
            return {"faq": _faq(request)}
        parsed = parse(Path(request["path"]), request["name"], request["format"])
        return {"parsed": to_json(parsed)}
    except HeadraceError as error:
        return {"error": {"message": error.message, "code": error.code}}
    except MemoryError:
        return {"error": {"message": "parsing it takes more memory than allowed", "code": "parse_memory"}}
    except RecursionError:
        return {"error": {"message": "it is nested too deeply", "code": "damaged_document"}}
    except Exception as error:  # the edge of the process: a parser's bug must name itself to the parent
        return {"error": {"message": f"the parser failed: {type(error).__name__}", "code": "parser_failed"}}


def _faq(request: Mapping[str, Any]) -> dict[str, Any]:
    from . import faq_files, faq_reading  # most workers never read one

    return faq_files.to_json(faq_reading.read(Path(request["path"]), request["faq"]))


def _is_spent(answer: Mapping[str, Any], memory_mb: int) -> bool:
    """Whether the next file should get a fresh process: what a large one took is seldom given back."""
    match answer:
        case {"error": {"code": "parse_memory" | "parser_failed"}}:
            return True
        case _:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_UNIT
            return peak > memory_mb * 1024 * 1024 * MOST_KEPT


def _read(stream: BinaryIO) -> dict[str, Any] | None:
    length = stream.read(LENGTH_BYTES)
    if len(length) < LENGTH_BYTES:
        return None
    return json.loads(stream.read(int.from_bytes(length, "big")))


def _write(stream: BinaryIO, answer: Mapping[str, Any]) -> None:
    body = json.dumps(answer).encode("ascii")
    stream.write(len(body).to_bytes(LENGTH_BYTES, "big") + body)
    stream.flush()


if __name__ == "__main__":
    main()
