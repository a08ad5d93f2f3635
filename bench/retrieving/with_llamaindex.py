"""LlamaIndex's hybrid retrieval as its guides build it: a vector index and BM25, fused by relative score."""

from importlib import import_module
from importlib.metadata import version
from time import perf_counter
from typing import Any

from measuring import TOP, Measured, given


def main() -> None:
    # Imported like this since it is not part of the project's environment, which types are checked in.
    core: Any = import_module("llama_index.core")
    schema: Any = import_module("llama_index.core.schema")
    retrievers: Any = import_module("llama_index.core.retrievers")
    llms: Any = import_module("llama_index.core.llms")
    embeddings: Any = import_module("llama_index.core.embeddings")
    bm25: Any = import_module("llama_index.retrievers.bm25")

    one, measured = given(), Measured("LlamaIndex", version("llama-index-core"))
    started = perf_counter()
    nodes = [
        schema.TextNode(id_=id, text=text, embedding=vector.tolist())
        for id, text, vector in zip(one.ids, one.texts, one.vectors, strict=True)
    ]
    # Vectors are given: nothing is embedded, and no model rewrites the question.
    index = core.VectorStoreIndex(nodes, embed_model=embeddings.MockEmbedding(embed_dim=len(one.vectors[0])))
    hybrid = retrievers.QueryFusionRetriever(
        [
            index.as_retriever(similarity_top_k=TOP),
            bm25.BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=TOP),
        ],
        llm=llms.MockLLM(),
        mode="relative_score",
        num_queries=1,
        similarity_top_k=TOP,
        use_async=False,
    )
    measured.indexed_in(perf_counter() - started)

    def search(text: str, vector: list[float]) -> list[str]:
        found = hybrid.retrieve(schema.QueryBundle(query_str=text, embedding=vector))
        return [hit.node.node_id for hit in found]

    measured.ask(one, search)
    measured.tell()


if __name__ == "__main__":
    main()
