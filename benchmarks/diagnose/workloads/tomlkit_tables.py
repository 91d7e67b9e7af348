import tomlkit

NESTED = "".join(f"[a.b{i}]\nx = 1\n[c.d{i}]\ny = 2\n" for i in range(60))

for _ in range(2):
    tomlkit.parse(NESTED)
    tomlkit.parse("".join(f"[t{i}]\na = 1\nb = 'x'\nc = [1, 2, 3]\n" for i in range(25))).as_string()
