-- One that was forgotten while it ran, or whose start had no answer, starts again.
INSERT INTO {{schema}}.headrace_instances (id, consumer, host, build, environment, handlers, started_at, beat_at)
SELECT $1, $2, $3, $4, $5, $6, t.now, t.now FROM (SELECT {{now}} AS now) AS t WHERE true
ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at, ended_at = NULL, counted_at = NULL
