"""The rule ensemble's parts: which runs train it, their counters side by side, the models, what they report."""
