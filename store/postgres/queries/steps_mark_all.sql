-- steps_mark for first calls of many messages, in the order of keys that all statements
-- share. It skips leases whose row is locked, so that no message waits for the lock of another
-- one. The caller runs steps_mark for each message if not all rows were inserted.
WITH asked AS MATERIALIZED (
    SELECT *
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::text[], $10::bigint[])
        AS u (scope, key, step, system, call_id, input_hash, sent_us, lease, token, unsettled_us)
), held AS MATERIALIZED (
    SELECT a.lease, a.token
    FROM (SELECT DISTINCT lease, token FROM asked) AS a
    CROSS JOIN LATERAL (
        SELECT b.id FROM {{schema}}.headrace_backlog AS b
        WHERE b.id = a.lease AND b.status = 'leased' AND b.token = a.token
        FOR UPDATE SKIP LOCKED
    ) AS b
)
INSERT INTO {{schema}}.headrace_steps (scope, key, step, system, state, call_id, input_hash, first_call_at, last_call_at, settled_at, changed_at)
SELECT a.scope, a.key, a.step, a.system, 'pending', a.call_id, a.input_hash, {{now}}, {{now}}, {{now}} + a.unsettled_us * interval '1 microsecond', {{now}}
FROM asked AS a
JOIN held ON held.lease = a.lease AND held.token = a.token
CROSS JOIN {{schema}}.headrace_durable()
WHERE NOT EXISTS (
    SELECT FROM {{schema}}.headrace_meta AS m
    WHERE m.one = 1 AND m.suspect_until > CASE WHEN a.sent_us = 0 THEN '-infinity' ELSE 'epoch'::timestamptz + a.sent_us * interval '1 microsecond' END
)
ORDER BY a.scope COLLATE "C", a.key COLLATE "C", a.step COLLATE "C"
ON CONFLICT (scope, key, step) DO NOTHING
