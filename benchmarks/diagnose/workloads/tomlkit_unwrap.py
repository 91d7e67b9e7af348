import tomlkit

DOCUMENT = "".join(f"[t{i}]\na = 1\nb = 'x'\nc = [1, 2, 3]\nd.e = 2\nd.f = 3\n" for i in range(60))

document = tomlkit.parse(DOCUMENT)
for _ in range(120):
    document.unwrap()
    document.as_string()
