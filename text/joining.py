"""Two neighbouring texts as one, without saying twice what they share."""

# Chunks overlap by about 60 characters. A shorter match is more likely chance ("10" + "0 days") than
# overlap, and repeating up to seven characters does less harm than losing one.
LEAST_OVERLAP = 8
MOST_OVERLAP = 2_000


def join_overlapping(a: str, b: str) -> str:
    """`a` then `b`, their longest common seam once; on lines of their own when there is none.

    Both texts stand in the result whole. A text that the other one holds adds nothing.
    """
    if b in a:
        return a
    if a in b:
        return b
    return join_following(a, b)


def join_following(a: str, b: str, *, overlapping: bool = True, end: str = "") -> str:
    """`a` and the text after it: their longest common seam once, and the header of a table that goes on once.

    Rows are no seam, however alike they are: a table that has a row twice has it twice. Without
    `overlapping` nothing is: such texts were cut where one ends and the next begins. `end` is the last of the
    texts that `a` was put together from.
    """
    if is_row(last_line(a)) and is_row(first_line(b)):
        return f"{a}\n{without_header(end or a, b)}"
    if overlapping and (length := seam(a, b)):
        return a + b[length:]
    return f"{a}\n{b}"


def seam(a: str, b: str) -> int:
    """Length of the longest end of `a` that `b` begins with; 0 for less than LEAST_OVERLAP."""
    longest = min(len(a), len(b), MOST_OVERLAP)
    opening = b[:LEAST_OVERLAP]
    place = a.find(opening, len(a) - longest) if longest >= LEAST_OVERLAP else -1
    while place >= 0:
        if b.startswith(a[place:]):
            return len(a) - place
        place = a.find(opening, place + 1)
    return 0


def without_header(a: str, b: str) -> str:
    """`b` without the row it begins with if the table at the end of `a` begins with the same one.

    Where a table is cut, its header stands at the top of every piece (`ingest/chunking.py`).
    """
    rows: list[str] = []
    for line in reversed(a.split("\n")):
        if not is_row(line):
            break
        rows.append(line)
    header, line_break, rest = b.partition("\n")
    return rest if line_break and rows and header == rows[-1] else b


def is_row(line: str) -> bool:
    """Whether a line is one of a table, as `ingest/parsed.py` writes them."""
    return len(line) > 2 and line.startswith("|") and line.endswith("|")


def first_line(text: str) -> str:
    return text.partition("\n")[0]


def last_line(text: str) -> str:
    return text.rpartition("\n")[2]
