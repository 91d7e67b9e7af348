"""GitHub: the bot's interface to a host, the runner's files, and every request. The only importer of PyGithub."""
