"""GitHub: what the bot needs of a host, the runner's files, and every request. The only importer of PyGithub."""
