-- One that was forgotten while it ran, or whose start had no answer, starts again.
INSERT INTO {{schema}}.headrace_instances (id, consumer, host, build) VALUES ($1, $2, $3, $4)
ON CONFLICT (id) DO UPDATE SET beat_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000, ended_at = NULL, outlived_at = NULL
