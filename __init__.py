"""headrace: answers over your own documents, in runs that are never lost."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .inspection import DataFolder

__all__ = ["open"]


def open(data_dir: str | Path | None = None) -> "DataFolder":
    """The runs of a data folder, for reading, also while its server runs; by default the configured folder.

    Raises HeadraceError that says why: no such folder, no data folder, one of another version.
    """
    # Imported here: `import headrace` alone should cost nothing.
    from .inspection import open_folder

    return open_folder(None if data_dir is None else Path(data_dir))
