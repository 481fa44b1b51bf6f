-- A redrive whose list is being written.
INSERT INTO {{schema}}.headrace_redrives
    (kind, state, consumer, filter, builds, stages, max_running, rate, pause_at, stage_timeout_us, planned_by)
VALUES ($1, 'preparing', $2, $3, $4, $5, $6, $7, $8, $9, $10)
RETURNING id
