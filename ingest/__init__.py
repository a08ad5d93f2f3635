"""From a file to searchable chunks: parse, chunk, embed, index."""
