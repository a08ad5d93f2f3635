"""The journal: everything a run leaves behind, written by one writer in one file.

`JournalSaver` and `open_journal` serve any LangGraph graph: docs/checkpointer.md.
"""

from .journal import Journal, JournalClosed, open_journal
from .saver import JournalSaver

__all__ = ["Journal", "JournalClosed", "JournalSaver", "open_journal"]
