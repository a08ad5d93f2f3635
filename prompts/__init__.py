"""Prompt templates and their loader."""
