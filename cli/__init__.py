"""The command line: every command talks HTTP to the server that owns the data folder.

Exit codes: 0 right, 1 failed, 2 wrong use, 3 nothing found or declined, 130 interrupted.
"""

from .program import main

__all__ = ["main"]
