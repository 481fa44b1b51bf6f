-- What it is about to run; an empty key says that it returned. It counts as a beat.
UPDATE {{schema}}.headrace_instances
SET running_scope = $2, running_key = $3, running_at = CASE WHEN $3 = '' THEN NULL ELSE CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 END, beat_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000, outlived_at = NULL
WHERE id = $1
