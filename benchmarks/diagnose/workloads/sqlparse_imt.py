import sqlparse

QUERY = """select a.id, a.name, count(*) as n, sum(case when b.x > 3 then 1 else 0 end) as s
from accounts a left join bookings b on a.id = b.account_id
where a.created between '2020-01-01' and '2021-01-01' and b.kind in ('x', 'y', 'z') -- only these
group by a.id, a.name having count(*) > 2 order by n desc limit 10;
"""

for _ in range(14):
    for statement in sqlparse.parse(QUERY * 12):
        str(statement)
