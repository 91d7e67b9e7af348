"""The nouns: frozen values without input or output. Validation happened before they were made."""
