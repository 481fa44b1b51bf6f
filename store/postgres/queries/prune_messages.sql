-- A stretch of the inbox, above the row $1 and below the row $2 of the heap: what is
-- old goes, with its attempts, steps and answer. A walk by place needs no index, and the deletion none
-- either. OFFSET 0 keeps the planner from joining with the whole of a table that is
-- asked for a few rows; ANY (ARRAY (…)) is a scan by place. || '' keeps starts_with
-- from becoming a scan of the key's index, whose rows are out of order by place, so that
-- the next batch would begin above some.
WITH old AS MATERIALIZED (
    SELECT i.ctid AS place
    FROM {{schema}}.headrace_inbox AS i
    WHERE i.ctid > $1::tid AND i.ctid < $2::tid
        AND i.state IN ('done', 'discarded')
        AND i.changed_at < (SELECT {{now}} - $3::bigint * interval '1 microsecond')
        AND starts_with(i.scope || '', $4)
        AND NOT EXISTS (
            SELECT FROM {{schema}}.headrace_backlog AS b WHERE b.scope = i.scope AND b.key = i.key OFFSET 0
        )
        AND NOT EXISTS (
            SELECT FROM {{schema}}.headrace_dead_letters AS l
            WHERE l.scope = i.scope AND l.key = i.key AND l.state = 'open' OFFSET 0
        )
    LIMIT $5
    FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM {{schema}}.headrace_inbox AS i
    WHERE i.ctid = ANY (ARRAY (SELECT old.place FROM old))
    RETURNING i.scope, i.key
), runs AS (
    DELETE FROM {{schema}}.headrace_attempts AS a
    WHERE a.ctid = ANY (ARRAY (
        SELECT r.ctid
        FROM gone
        CROSS JOIN LATERAL (
            SELECT t.ctid FROM {{schema}}.headrace_attempts AS t WHERE t.scope = gone.scope AND t.key = gone.key OFFSET 0
        ) AS r
    ))
), steps AS (
    DELETE FROM {{schema}}.headrace_steps AS s
    WHERE s.ctid = ANY (ARRAY (
        SELECT r.ctid
        FROM gone
        CROSS JOIN LATERAL (
            SELECT t.ctid FROM {{schema}}.headrace_steps AS t WHERE t.scope = gone.scope AND t.key = gone.key OFFSET 0
        ) AS r
    ))
), answers AS (
    DELETE FROM {{schema}}.headrace_answers AS a
    WHERE a.ctid = ANY (ARRAY (
        SELECT r.ctid
        FROM gone
        CROSS JOIN LATERAL (
            SELECT t.ctid FROM {{schema}}.headrace_answers AS t WHERE t.scope = gone.scope AND t.key = gone.key OFFSET 0
        ) AS r
    ))
)
SELECT count(*), COALESCE((SELECT o.place FROM old AS o ORDER BY o.place DESC LIMIT 1), '(0,0)')::text,
    pg_relation_size($headrace${{schema}}.headrace_inbox$headrace$::regclass) / current_setting('block_size')::bigint
FROM gone
