"""Output: each subject as one document, and its renderers for GitHub, a terminal and a page."""
