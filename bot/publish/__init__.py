"""Comments, check runs and artifacts; the only importer of PyGithub."""
