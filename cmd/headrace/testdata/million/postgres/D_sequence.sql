-- New rows of the backlog go behind those of $1 letters.
SELECT setval('headrace_backlog_id', $1::bigint)
