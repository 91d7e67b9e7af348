"""Workflow files run as GitHub's runner runs them: expressions, matrices, steps in bash, our action in this process."""
