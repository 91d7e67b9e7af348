import pyparsing as pp

word = pp.Word(pp.alphas)
number = pp.Word(pp.nums)
items = pp.ZeroOrMore(word("key*") + pp.Suppress("=") + number("value*"))

TEXT = " ".join(f"{'abcdefghij'[i % 10]} = {i}" for i in range(5000))
for _ in range(2):
    items.parse_string(TEXT)
