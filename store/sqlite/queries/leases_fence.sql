-- Whether the lease is still held. The transaction has the whole file, and no server that
-- would have limits.
SELECT '' FROM {{schema}}.headrace_backlog WHERE id = $1 AND status = 'leased' AND token = $2
