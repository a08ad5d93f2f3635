"""The journal: everything a run leaves behind, written by one writer in one file."""
