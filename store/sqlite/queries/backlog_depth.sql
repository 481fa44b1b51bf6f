-- How much there is on each line, and how long the oldest ready row has stood there.
SELECT count(*) FILTER (WHERE line = 'ready'), count(*) FILTER (WHERE line = 'delayed'),
    count(*) FILTER (WHERE line = 'blocked'),
    COALESCE(CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - min(ready_at) FILTER (WHERE line = 'ready'), 0)
FROM {{schema}}.headrace_backlog
WHERE $1 = '' OR consumer = $1
