"""Arithmetic on text and rankings, without I/O."""
