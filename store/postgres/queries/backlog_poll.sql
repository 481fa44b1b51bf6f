-- An idle look: one probe of an index for each shard, and one for what is due. It
-- never walks over rows that cannot be worked off.
SELECT
    ARRAY(
        SELECT m.place - 1
        FROM unnest($2::bigint[]) WITH ORDINALITY AS m (mark, place)
        CROSS JOIN LATERAL (
            SELECT FROM {{schema}}.headrace_backlog AS b
            WHERE b.line = 'ready' AND b.consumer = $1 AND b.shard = (m.place - 1)::smallint AND b.id > m.mark
            ORDER BY b.id
            LIMIT 1
        ) AS found
        ORDER BY m.place
    ),
    (
        SELECT (extract(epoch FROM b.due_at - clock_timestamp()) * 1000000)::bigint
        FROM {{schema}}.headrace_backlog AS b
        WHERE b.line = 'delayed' AND b.consumer = $1
        ORDER BY b.due_at
        LIMIT 1
    )
