"""The commands: parse arguments, call the pipeline, map errors to exit codes. Only this package prints and exits.

One module per group of commands. A command imports heavy modules only when it needs them, so `--help` answers in a
fraction of a second.
"""
