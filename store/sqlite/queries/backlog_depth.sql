-- How much there is on each line, and how long the oldest row that can be worked off
-- has stood there. What waits to be leased can be.
SELECT count(*) FILTER (WHERE line IN ('ready', 'leasable')), count(*) FILTER (WHERE line = 'delayed'),
    count(*) FILTER (WHERE line = 'blocked'), count(*) FILTER (WHERE line = 'leased'),
    COALESCE(CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - min(ready_at) FILTER (WHERE line IN ('ready', 'leasable')), 0)
FROM {{schema}}.headrace_backlog
WHERE $1 = '' OR consumer = $1
