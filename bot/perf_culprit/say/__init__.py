"""A report's renderings: Markdown, terminal text, HTML, check run texts, action outputs. Values in, text out."""
