-- The oldest rows of a namespace: how many, up to which id, and how many of them are
-- too old ($3 microseconds).
SELECT count(*), COALESCE(max(o.id), 0), COALESCE(sum(o.at <= {{now}} - $3), 0)
FROM (SELECT a.id, a.at FROM {{schema}}.headrace_alerts AS a WHERE a.consumer = $1 ORDER BY a.id LIMIT $2) AS o
