-- Ready rows of leased handlers leave the line that the drain works off.
UPDATE {{schema}}.headrace_backlog SET line = 'leasable' WHERE id = ANY ($1::bigint[]) AND line = 'ready'
