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
    for length in range(min(len(a), len(b), MOST_OVERLAP), LEAST_OVERLAP - 1, -1):
        if a.endswith(b[:length]):
            return a + b[length:]
    return f"{a}\n{b}"
