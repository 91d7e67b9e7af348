import sqlparse

VALUES = ", ".join(f"({i}, 'name {i}', {i * 2})" for i in range(220))

for _ in range(5):
    sqlparse.format(f"insert into t (a, b, c) values {VALUES}", reindent=True)
    sqlparse.format("select a.b, c from d join e on d.x = e.y where f in (1, 2, 3)", reindent=True)
