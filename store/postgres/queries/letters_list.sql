-- Letters of a filter in a window, newest first, without their large columns. The window is of
-- a source, as in letters_window. The letters of a group or a key are compared and sorted as
-- their index is: for error_fingerprint = $7 the planner likes to walk over the letters of all.
SELECT l.id, l.state, l.class, l.consumer, l.handler, l.scope, l.key, l.order_key, l.strict, l.fingerprint, l.first_fingerprint,
    l.message_id, l.topic, NULL::bytea, NULL::bytea, l.coordinates, l.trace_parent, l.trace_state, l.error, l.error_fingerprint,
    l.chain, '', l.attempts, l.first_failure, l.last_failure, l.previous_id, l.redrives, l.host, l.build, l.environment,
    l.created_at, l.changed_at, l.reply_topic, l.deliveries, l.rev, NULL::bytea, NULL::bytea
FROM (
    (SELECT l.* FROM {{schema}}.headrace_dead_letters AS l
     WHERE $16::text = 'all' AND l.id > $17::bigint AND l.id < $18::bigint
     ORDER BY l.id DESC)
    UNION ALL
    (SELECT l.* FROM {{schema}}.headrace_dead_letters AS l
     WHERE $16::text = 'open' AND l.state = 'open' AND l.id > $17::bigint AND l.id < $18::bigint
     ORDER BY l.id DESC)
    UNION ALL
    (SELECT l.* FROM {{schema}}.headrace_dead_letters AS l
     WHERE $16::text = 'group' AND l.state = 'open'
         AND l.error_fingerprint = $7::text AND l.id > $17::bigint AND l.id < $18::bigint
     ORDER BY l.error_fingerprint DESC, l.id DESC)
    UNION ALL
    (SELECT l.* FROM {{schema}}.headrace_dead_letters AS l
     WHERE $16::text = 'key'
         AND l.key = $8::text AND l.id > $17::bigint AND l.id < $18::bigint
     ORDER BY l.key DESC, l.id DESC)
    UNION ALL
    (SELECT l.* FROM {{schema}}.headrace_dead_letters AS l
     WHERE $16::text = 'ids' AND l.id = ANY ($2::bigint[]) AND l.id > $17::bigint AND l.id < $18::bigint
     ORDER BY l.id DESC)
) AS l
WHERE {{letters_chosen}}
    AND {{letters_hold}}
ORDER BY CASE WHEN $16::text = 'group' THEN l.error_fingerprint END DESC, CASE WHEN $16::text = 'key' THEN l.key END DESC, l.id DESC
LIMIT $19
