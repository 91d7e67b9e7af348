from markdown_it import MarkdownIt

TEXT = "# Title\n\nSome *text* with `code` and [a link](http://x.org).\n\n- one\n- two\n\n" * 30
REFERENCES = "".join(f"[label{i}]: http://example.org/{i} 'title {i}'\n" for i in range(260))

for _ in range(3):
    MarkdownIt("commonmark").render(TEXT + REFERENCES)
