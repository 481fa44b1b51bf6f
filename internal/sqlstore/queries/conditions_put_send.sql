-- What a sink knows of a condition now.
INSERT INTO {{schema}}.headrace_sends (key, sink, phase, severity, n, sent_at, failures, failing_at, down_at, due_at, error, lost)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (key, sink) DO UPDATE SET phase = excluded.phase, severity = excluded.severity, n = excluded.n, sent_at = excluded.sent_at,
    failures = excluded.failures, failing_at = excluded.failing_at, down_at = excluded.down_at, due_at = excluded.due_at,
    error = excluded.error, lost = excluded.lost
