"""What rerank is made of: values in, values out, but for `judging`, which asks the model."""
