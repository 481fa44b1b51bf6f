-- How much there is on each line, and how long the oldest ready row has stood there.
SELECT count(*) FILTER (WHERE line = 'ready'), count(*) FILTER (WHERE line = 'delayed'),
    count(*) FILTER (WHERE line = 'blocked'),
    COALESCE((extract(epoch FROM clock_timestamp() - min(ready_at) FILTER (WHERE line = 'ready')) * 1000000)::bigint, 0)
FROM {{schema}}.headrace_backlog
WHERE $1::text = '' OR consumer = $1::text
