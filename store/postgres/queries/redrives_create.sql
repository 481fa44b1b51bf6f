-- A redrive whose list is being written.
INSERT INTO {{schema}}.headrace_redrives
    (kind, state, consumer, filter, builds, stages, max_running, rate, pause_at, stage_timeout_us, planned_by, handler, error_fingerprint)
VALUES ($1, 'preparing', $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
RETURNING id
