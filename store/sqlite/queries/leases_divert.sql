-- Ready rows of leased handlers leave the line that the drain works off.
UPDATE {{schema}}.headrace_backlog SET line = 'leasable'
WHERE id IN (SELECT r.value FROM json_each($1) AS r) AND line = 'ready'
