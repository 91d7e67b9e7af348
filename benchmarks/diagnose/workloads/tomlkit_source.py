import tomlkit

DOCUMENT = "".join(f"# table {i}\n[t{i}]\na = 1.5\nb = 'x'\nc = [1, 2, 3]\nd = 2020-01-01\n" for i in range(120))

for _ in range(8):
    tomlkit.parse(DOCUMENT).as_string()
