-- How much there is on each line, and how long the oldest row that can be worked off
-- has stood there. What waits to be leased can be.
SELECT count(*) FILTER (WHERE line IN ('ready', 'leasable')), count(*) FILTER (WHERE line = 'delayed'),
    count(*) FILTER (WHERE line = 'blocked'), count(*) FILTER (WHERE line = 'leased'),
    COALESCE((extract(epoch FROM clock_timestamp() - min(ready_at) FILTER (WHERE line IN ('ready', 'leasable'))) * 1000000)::bigint, 0)
FROM {{schema}}.headrace_backlog
WHERE $1::text = '' OR consumer = $1::text
