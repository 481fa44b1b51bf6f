-- A pause that lasts is left as it is.
INSERT INTO {{schema}}.headrace_pauses AS p (consumer, by_whom, reason, at) VALUES ($1, $2, $3, {{now}})
ON CONFLICT (consumer) DO UPDATE SET by_whom = excluded.by_whom, reason = excluded.reason, at = excluded.at, resumed_by = '', resumed_at = NULL
WHERE p.resumed_at IS NOT NULL
