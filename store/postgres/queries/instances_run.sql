-- What it is about to run; an empty key says that it returned. It counts as a beat.
UPDATE {{schema}}.headrace_instances
SET running_scope = $2::text, running_key = $3::text, running_at = CASE WHEN $3::text = '' THEN NULL ELSE clock_timestamp() END, beat_at = clock_timestamp(), outlived_at = NULL
WHERE id = $1
