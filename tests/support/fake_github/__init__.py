"""A stateful GitHub on localhost whose every request and answer is checked against GitHub's own description."""
