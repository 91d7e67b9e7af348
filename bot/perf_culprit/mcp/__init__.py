"""A server for coding assistants (Model Context Protocol, over standard input and output): docs/assistants.md.

Each tool runs one of our commands in a separate process. Cancelling a call ends it, and its errors are the command
line's. The tool answers with the command's JSON, made inert and bounded (`answer`).
"""
