"""The command `init`: looks at a repository, and writes or checks the workflow files of the bot."""
