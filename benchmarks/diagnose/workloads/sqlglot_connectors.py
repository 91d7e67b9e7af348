import sqlglot
from sqlglot.optimizer.simplify import simplify

QUERY = " OR ".join(f"(a{i} LIKE 'x' AND b{i} LIKE 'y')" for i in range(700))

simplify(sqlglot.parse_one(QUERY))
