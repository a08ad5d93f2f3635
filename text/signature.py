"""Ids made of content: the same content gives the same id, so doing something again changes nothing."""

import hashlib


def chunk_id(document_id: str, revision: int, kind: str, chunk_index: int) -> str:
    """32 hex digits of a hash of a chunk's document, that document's revision, its kind and its place."""
    # A separator that cannot stand in an id or a kind keeps ("d1", 11) and ("d11", 1) apart.
    key = "\x1f".join((document_id, str(revision), kind, str(chunk_index)))
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def text_hash(text: str) -> str:
    """sha256 of a text in hex. Lone surrogates, which broken files may hold, are hashed as they are."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
