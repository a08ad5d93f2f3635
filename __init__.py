"""headrace: answers over your own documents, in runs that are never lost."""
