"""GitHub as a host: one function per request, the first argument the connection. The only importer of PyGithub."""
