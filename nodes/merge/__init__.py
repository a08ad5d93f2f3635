"""What merge_chunks does to hits, one step per module: values in, values out, no I/O."""
