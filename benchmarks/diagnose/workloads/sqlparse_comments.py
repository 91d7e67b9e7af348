import sqlparse

SCRIPT = "select a, b from t where c = 1 and d in (1, 2, 3);\n" * 15 + "select 1 from x " + "-- note\n" * 500

for _ in range(6):
    sqlparse.format(SCRIPT, keyword_case="upper", strip_whitespace=True)
    sqlparse.parse(SCRIPT)
