-- With how long it may still be taken, in microseconds.
SELECT id, kind, consumer, build, host, args, by_whom, reason, db_user, at, until, (extract(epoch FROM until - {{now}}) * 1000000)::bigint,
    state, instance, taken_by, answer, error
FROM {{schema}}.headrace_requests WHERE id = $1
