"""Retrieval measured stage by stage, over questions whose right passages are known."""
