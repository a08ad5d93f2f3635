"""What a stage tells beside its result: who left, warnings, progress."""
