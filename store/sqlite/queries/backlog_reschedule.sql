-- Rows are run again: after their delays, or with none behind the rows that are ready, in
-- the order given, with the last ids that were taken of the sequence. They are not leased
-- any more.
UPDATE {{schema}}.headrace_backlog AS b
SET status = CASE WHEN change.delay_us > 0 THEN 'delayed' ELSE 'ready' END,
    due_at = CASE WHEN change.delay_us > 0 THEN ({{now}} + change.delay_us) / 1000 * 1000 END,
    place = CASE WHEN change.delay_us > 0 THEN b.place ELSE change.place END,
    ready_at = CASE WHEN change.delay_us > 0 THEN b.ready_at ELSE {{now}} END,
    attempt = change.attempt, reruns = change.reruns,
    postponed_at = CASE WHEN change.postponed THEN COALESCE(b.postponed_at, {{now}}) WHEN change.reruns > 0 THEN b.postponed_at END,
    reason = change.reason, token = '',
    error_fingerprint = COALESCE(NULLIF(change.error_fingerprint, ''), b.error_fingerprint)
FROM (
    SELECT c.value ->> 0 AS id, c.value ->> 1 AS delay_us, c.value ->> 2 AS attempt, c.value ->> 3 AS reruns,
        c.value ->> 4 AS postponed, c.value ->> 5 AS reason, c.value ->> 6 AS error_fingerprint, s.last - json_array_length($1) + 1 + c.key AS place
    FROM json_each($1) AS c
    CROSS JOIN {{schema}}.headrace_sequences AS s ON s.name = 'backlog'
) AS change
WHERE b.id = change.id
