from more_itertools import ichunked

for _ in range(20):
    for chunk in ichunked(range(60_000), 12):
        sum(chunk)
