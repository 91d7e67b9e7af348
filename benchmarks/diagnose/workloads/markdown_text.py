from markdown_it import MarkdownIt

TEXT = "Plain words follow each other in a long paragraph without any mark that means something else\n" * 60
DOCUMENT = ("# Title\n\n" + TEXT + "\nSome *emphasis* with `code`.\n\n- one\n- two\n\n") * 60

for _ in range(12):
    MarkdownIt("commonmark").render(DOCUMENT)
