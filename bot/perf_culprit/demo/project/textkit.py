"""A small text library: the code under measurement in the demo."""

import re
from collections import Counter

WORD = re.compile(r"[a-z']+")


def tokenize(text):
    return WORD.findall(text.lower())


def count(words):
    return Counter(words)


def index(documents):
    places = {}
    for number, document in enumerate(documents):
        for word in tokenize(document):
            places.setdefault(word, set()).add(number)
    return places


def search(table, query):
    hits = [table.get(word, set()) for word in tokenize(query)]
    return set.intersection(*hits) if hits else set()


def wrap(text, width):
    lines, line = [], ""
    for word in text.split():
        if len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return lines + [line]
