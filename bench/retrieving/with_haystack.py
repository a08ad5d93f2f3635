"""Haystack's hybrid retrieval as its guides build it: BM25 and embeddings in memory, joined by ranks."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from importlib import import_module
from importlib.metadata import version
from time import perf_counter
from typing import Any

from measuring import TOP, Measured, given


def main() -> None:
    # Imported like this since it is not part of the project's environment, which types are checked in.
    haystack: Any = import_module("haystack")
    stores: Any = import_module("haystack.document_stores.in_memory")
    retrievers: Any = import_module("haystack.components.retrievers.in_memory")
    joiners: Any = import_module("haystack.components.joiners")

    one, measured = given(), Measured("Haystack", version("haystack-ai"))
    started = perf_counter()
    store = stores.InMemoryDocumentStore(embedding_similarity_function="cosine")
    store.write_documents(
        [
            haystack.Document(id=id, content=text, embedding=vector.tolist())
            for id, text, vector in zip(one.ids, one.texts, one.vectors, strict=True)
        ]
    )
    pipeline = haystack.Pipeline()
    pipeline.add_component("words", retrievers.InMemoryBM25Retriever(store, top_k=TOP))
    pipeline.add_component("vectors", retrievers.InMemoryEmbeddingRetriever(store, top_k=TOP))
    pipeline.add_component("joiner", joiners.DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=TOP))
    pipeline.connect("words", "joiner")
    pipeline.connect("vectors", "joiner")
    measured.indexed_in(perf_counter() - started)

    def search(text: str, vector: list[float]) -> list[str]:
        found = pipeline.run({"words": {"query": text}, "vectors": {"query_embedding": vector}})
        return [document.id for document in found["joiner"]["documents"]]

    measured.ask(one, search)
    measured.tell()


if __name__ == "__main__":
    main()
