"""Adapters for what is kept: vectors, keywords, the catalogue and original files."""
