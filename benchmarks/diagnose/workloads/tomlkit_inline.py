import tomlkit

INLINE = "big = {" + ", ".join(f"k{i} = {i}" for i in range(420)) + "}\n"
DOCUMENT = "".join(f"[t{i}]\na = 1\nb = 'x'\nc = [1, 2, 3]\n" for i in range(25))

for _ in range(6):
    document = tomlkit.parse(INLINE + DOCUMENT)
    for _ in range(4):
        document.as_string()
