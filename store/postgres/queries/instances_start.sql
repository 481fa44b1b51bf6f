-- One that was forgotten while it ran, or whose start had no answer, starts again.
INSERT INTO {{schema}}.headrace_instances (id, consumer, host, build, environment, handlers) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (id) DO UPDATE SET beat_at = {{now}}, ended_at = NULL, counted_at = NULL
