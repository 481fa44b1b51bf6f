-- Letters above the id $1: closed ones go when they are old and their message is done
-- or gone, those of conflicts not before a message would go ($6); open ones only where
-- there is an age for them, and with the row of their message, unless they are conflicts,
-- whose key is another message's. Those that are being redriven or discarded now are
-- skipped.
WITH old AS MATERIALIZED (
    SELECT l.id, l.scope, l.key, l.state = 'open' AND l.class <> 'conflict' AS lost
    FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.id > $1 AND ($2::text = '' OR l.consumer = $2::text)
        AND CASE
            WHEN l.state = 'open' THEN $4::bigint > 0 AND l.changed_at < (SELECT {{now}} - $4::bigint * interval '1 microsecond')
            ELSE l.changed_at < (SELECT {{now}} - $3::bigint * interval '1 microsecond')
                AND (l.class <> 'conflict' OR l.changed_at < (SELECT {{now}} - $6::bigint * interval '1 microsecond'))
                AND NOT EXISTS (
                    SELECT FROM {{schema}}.headrace_inbox AS i
                    WHERE i.scope = l.scope AND i.key = l.key AND i.state IS DISTINCT FROM 'done' OFFSET 0
                )
        END
    ORDER BY l.id
    LIMIT $5
    FOR UPDATE SKIP LOCKED
), dead AS (
    DELETE FROM {{schema}}.headrace_inbox AS i
    WHERE i.state = 'dead' AND i.ctid = ANY (ARRAY (
        SELECT r.ctid
        FROM old
        CROSS JOIN LATERAL (
            SELECT t.ctid FROM {{schema}}.headrace_inbox AS t
            WHERE t.scope = old.scope AND t.key = old.key AND t.state IS NOT DISTINCT FROM 'dead' OFFSET 0
        ) AS r
        WHERE old.lost
    ))
    RETURNING i.scope, i.key
), runs AS (
    DELETE FROM {{schema}}.headrace_attempts AS a
    WHERE a.ctid = ANY (ARRAY (
        SELECT r.ctid
        FROM dead
        CROSS JOIN LATERAL (
            SELECT t.ctid FROM {{schema}}.headrace_attempts AS t WHERE t.scope = dead.scope AND t.key = dead.key OFFSET 0
        ) AS r
    ))
), steps AS (
    DELETE FROM {{schema}}.headrace_steps AS s
    WHERE s.ctid = ANY (ARRAY (
        SELECT r.ctid
        FROM dead
        CROSS JOIN LATERAL (
            SELECT t.ctid FROM {{schema}}.headrace_steps AS t WHERE t.scope = dead.scope AND t.key = dead.key OFFSET 0
        ) AS r
    ))
), trail AS (
    DELETE FROM {{schema}}.headrace_audit AS a
    WHERE a.subject_kind = 'letter' AND a.subject = ANY (ARRAY (SELECT old.id::text FROM old))
), edits AS (
    DELETE FROM {{schema}}.headrace_letter_edits AS e
    WHERE e.letter_id = ANY (ARRAY (SELECT old.id FROM old))
), gone AS (
    DELETE FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.id = ANY (ARRAY (SELECT old.id FROM old))
    RETURNING l.id
)
SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM dead), COALESCE((SELECT max(old.id) FROM old), 0)
