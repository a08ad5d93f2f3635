"""What a question means: by rules, and from what a model said."""
