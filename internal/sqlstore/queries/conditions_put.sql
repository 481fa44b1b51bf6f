-- A condition as it is now.
INSERT INTO {{schema}}.headrace_conditions
    (key, namespace, kind, consumer, handler, error_fingerprint, instance, severity, state, since, quiet_at, ended_at, n, base, base_at, known, alert)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
ON CONFLICT (key) DO UPDATE SET instance = excluded.instance, severity = excluded.severity, state = excluded.state, since = excluded.since,
    quiet_at = excluded.quiet_at, ended_at = excluded.ended_at, n = excluded.n, base = excluded.base, base_at = excluded.base_at,
    known = excluded.known, alert = excluded.alert
