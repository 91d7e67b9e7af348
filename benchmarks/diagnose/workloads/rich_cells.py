from rich.cells import cell_len

TEXT = "plain text with a 漢字 in it, " * 30

for i in range(4_000):
    cell_len(f"{i} {TEXT}")
