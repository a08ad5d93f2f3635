"""Text, times and sizes on a screen: in one line, and unable to steer the terminal."""

import json
import os
import sys
from collections.abc import Iterator
from datetime import datetime

from rich.cells import cell_len, set_cell_size
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from ..graph.tracing.shapes import Candidate, Run
from ..terminal import harmless

PIPED_WIDTH = 100  # columns; a pipe has none of its own


def screen() -> Console:
    """Standard output, as wide as its terminal. Nothing in what is printed is taken for markup."""
    fixed = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPED_WIDTH
    return Console(width=fixed, markup=False, emoji=False, highlight=False)


def show(report: RenderableType) -> None:
    """Print a report, in a pipe without the space that fills its tables."""
    console = screen()
    if console.is_terminal:
        console.print(report)
        return
    with console.capture() as captured:
        console.print(report)
    print("\n".join(text.rstrip() for text in captured.get().splitlines()))


def line(text: object) -> str:
    """Text from a document, a model or a person as one line."""
    return " ".join(harmless(" ".join(str(text).splitlines())).split())


def lines(text: str) -> str:
    """The same, with its line breaks."""
    return "\n".join(harmless(one).replace("\t", "    ") for one in text.splitlines())


def one_line(text: object, style: str = "", *, before: str = "") -> Text:
    """Text that is cut at the width it is given, with …, where it would wrap."""
    return Text(before + line(text), style=style, no_wrap=True, overflow="ellipsis")


def titled(title: str, *content: RenderableType) -> Iterator[RenderableType]:
    """A part of a report."""
    yield Text()
    yield Text(line(title), "bold underline")
    yield from content


def plain_table() -> Table:
    """Columns without lines around them: they would be noise in a pipe."""
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")


def cut(text: str, width: int) -> str:
    """At most `width` columns of a terminal; a Chinese character takes two."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + "…"


def padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def duration(ms: float | None) -> str:
    """Milliseconds as a person reads them; – where nothing is known."""
    if ms is None:
        return "–"
    if ms < 9.95:  # what would be rounded up to the next unit's form is written in it
        return f"{ms:.1f} ms"
    if ms < 999.5:
        return f"{ms:.0f} ms"
    if ms < 59_995:
        return f"{ms / 1000:.2f} s"
    minutes, seconds = divmod(round(ms / 1000), 60)
    return f"{minutes} min {seconds} s"


def moment(time: str | None) -> str:
    """A time of the wire as a clock here shows it, to the second; – where there is none."""
    if time is None:
        return "–"
    return datetime.fromisoformat(time).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def value_of(value: object) -> str:
    """A value as one writes it in JSON, text as it stands; – for null."""
    if value is None:
        return "–"
    return line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def score(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def state_of(run: Run) -> str:
    """How a run ended, or else how it stands."""
    return line(run["outcome"] or run["status"])


def lasted(run: Run) -> str:
    """How a run ended and after how long; of one that has not, how it stands."""
    time = total_ms(run)
    return state_of(run) if time is None else f"{state_of(run)} in {duration(time)}"


def total_ms(run: Run) -> float | None:
    timing = run["timing"]  # null until the run has ended
    return timing["total_ms"] if timing else None


def passage(candidate: Candidate) -> str:
    """Where a passage stands: title, number in the document, page, section."""
    parts = [
        candidate["document_title"] or f"(document {candidate['document_id']})",
        # An FAQ entry is one piece: its question, which is the title.
        f"#{candidate['chunk_index']}"
        if candidate["chunk_index"] is not None and candidate["kind"] != "faq"
        else "",
        f"p. {candidate['page']}" if candidate["page"] is not None else "",
        f"› {candidate['section']}" if candidate["section"] else "",
    ]
    return line(" ".join(part for part in parts if part))
