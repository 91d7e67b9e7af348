import sqlparse

COLUMNS = ", ".join(f"t.c{i} as n{i}" for i in range(400))
DEEP = "select " + "(" * 25 + "1 + 2 * x" + ")" * 25

for _ in range(12):
    sqlparse.parse(f"select {COLUMNS} from t where a = 1 and b = 2 or c = (select max(d) from u)")
    sqlparse.parse(DEEP)
    sqlparse.format("select a.b, c from d join e on d.x = e.y where f in (1, 2, 3)" * 10, reindent=True)
