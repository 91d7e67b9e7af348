"""The rooms joined: one function per command. The only importer of all stages."""
