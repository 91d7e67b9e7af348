"""A server for coding assistants (Model Context Protocol, over standard input and output): docs/assistants.md.

Each tool is a command of ours in a process of its own: a call that is cancelled ends it, and its errors are the
command line's. What a command writes as JSON is what the tool answers, made inert and bounded (`answer`).
"""
