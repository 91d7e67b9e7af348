"""The work of a GitHub job: its results, comments, issues and proofs. Only `action` calls it."""
