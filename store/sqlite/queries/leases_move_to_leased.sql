-- Ready rows of leased handlers wait to be leased.
UPDATE {{schema}}.headrace_backlog SET status = 'leasable'
WHERE id IN (SELECT r.value FROM json_each($1) AS r) AND status = 'ready'
