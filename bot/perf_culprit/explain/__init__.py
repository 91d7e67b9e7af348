"""Call trees compared and ranked: which methods got slower, which changed code they are, which services feel it."""
