import mistune

TEXT = "# Title\n\nSome *text* with `code` and [a link](http://x.org).\n\n- one\n- two\n\n" * 20
REFERENCES = "".join(f"[label{i}]: http://example.org/{i}\n" for i in range(600))

parse = mistune.create_markdown()
for _ in range(5):
    parse(TEXT)
    parse(REFERENCES)
