"""What a run did and why, put together from what it left: values in, values out."""
