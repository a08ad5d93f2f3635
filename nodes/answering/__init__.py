"""What an answer is made of: prompt, budget, citations, stream."""
