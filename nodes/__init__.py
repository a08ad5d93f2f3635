"""What happens at each stage: one node per module."""
