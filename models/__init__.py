"""Adapters for what computes: embeddings, chat models, rerankers."""
