"""The commands: parse arguments, call the pipeline, map errors to exit codes. The only printer and exiter.

One module per group of commands. Nothing heavy is imported before a command needs it: `--help` answers in a fraction
of a second.
"""
