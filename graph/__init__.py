"""In what order the stages run."""
