from yarl import URL

base = URL("http://example.com/path/to/somewhere")
for _ in range(40_000):
    base.joinpath("more", "segments", "and", "more")
