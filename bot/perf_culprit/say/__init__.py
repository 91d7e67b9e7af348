"""What is said: each subject as one document, and its renderers for GitHub, a terminal and a page."""
