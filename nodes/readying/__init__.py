"""Answers that are there already: to known questions, and to questions that were answered before."""
