-- Rows are run again: after their delays, or with none behind the rows that are ready, in
-- the order given. They are not leased any more.
WITH change AS MATERIALIZED (
    SELECT c.*, CASE WHEN c.delay_us <= 0 THEN nextval($headrace${{schema}}.headrace_backlog_id$headrace$) END AS place
    FROM (
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::integer[], $5::boolean[], $6::text[], $7::text[])
            WITH ORDINALITY AS u (id, delay_us, attempt, reruns, postponed, reason, error_fingerprint, n)
        ORDER BY u.n
    ) AS c
), clock AS MATERIALIZED (
    SELECT {{now}} AS now
)
UPDATE {{schema}}.headrace_backlog AS b
SET status = CASE WHEN change.delay_us > 0 THEN 'delayed' ELSE 'ready' END,
    due_at = CASE WHEN change.delay_us > 0 THEN clock.now + change.delay_us * interval '1 microsecond' END,
    place = COALESCE(change.place, b.place),
    ready_at = CASE WHEN change.delay_us > 0 THEN b.ready_at ELSE clock.now END,
    attempt = change.attempt, reruns = change.reruns,
    postponed_at = CASE WHEN change.postponed THEN COALESCE(b.postponed_at, clock.now) WHEN change.reruns > 0 THEN b.postponed_at END,
    reason = change.reason, token = '',
    error_fingerprint = COALESCE(NULLIF(change.error_fingerprint, ''), b.error_fingerprint)
FROM change CROSS JOIN clock
WHERE b.id = change.id
