"""Hybrid search, and which of its hits say the same."""
