-- Whether the lease is still held. The transaction has the whole file.
SELECT 1 FROM {{schema}}.headrace_backlog WHERE scope = $1 AND key = $2 AND line = 'leased' AND token = $3
