-- How many rows each handler has by status, and for how long the oldest that can be worked
-- off has been ready. What waits to be leased can be. It reads the whole table.
SELECT consumer, handler, count(*) FILTER (WHERE status IN ('ready', 'leasable')), count(*) FILTER (WHERE status = 'delayed'),
    count(*) FILTER (WHERE status = 'delayed' AND postponed_at IS NOT NULL),
    count(*) FILTER (WHERE status = 'blocked'), count(*) FILTER (WHERE status = 'leased'),
    COALESCE({{now}} - min(ready_at) FILTER (WHERE status IN ('ready', 'leasable')), 0)
FROM {{schema}}.headrace_backlog
GROUP BY consumer, handler
