"""Comments, check runs and artifacts: what a host of repositories offers (`host`), and GitHub (`github/`)."""
