-- Ready rows of leased handlers wait to be leased.
UPDATE {{schema}}.headrace_backlog SET status = 'leasable' WHERE id = ANY ($1::bigint[]) AND status = 'ready'
