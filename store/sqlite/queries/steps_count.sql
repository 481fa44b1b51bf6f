-- How many steps of the scopes from $1 to $2 need a person, were skipped, or wait for a signal,
-- at most $4 of each; and how many have had no known outcome for longer than $3 µs, of the
-- $4 of all scopes for which that is longest. Beside states: those that were carried out twice, of which
-- there are few, and those that were skipped within an hour, both until a person says something. Skipped ones stay until their message is
-- pruned, so each count reads $4 entries of an index at most. The lists of states are those
-- of the indexes.
SELECT of.value, (
    SELECT count(*) FROM (
        SELECT 1 FROM {{schema}}.headrace_steps AS s
        WHERE s.state = of.value AND s.state IN ('parked', 'skipped', 'awaiting') AND s.scope >= $1 AND s.scope < $2
        LIMIT $4
    ) AS f
)
FROM json_each('["parked", "skipped", "awaiting"]') AS of
UNION ALL
SELECT 'pending', count(*) FROM (
    SELECT s.scope FROM {{schema}}.headrace_steps AS s
    WHERE s.state = 'pending' AND s.state IN ('pending', 'parked', 'skipped', 'awaiting') AND s.changed_at <= {{now}} - $3
    ORDER BY s.changed_at
    LIMIT $4
) AS f
WHERE f.scope >= $1 AND f.scope < $2
UNION ALL
SELECT 'doubled', count(*) FROM (
    SELECT s.scope, s.by_whom FROM {{schema}}.headrace_steps AS s
    WHERE s.other_id <> ''
    ORDER BY s.system, s.other_id
    LIMIT $4
) AS f
WHERE f.by_whom = '' AND f.scope >= $1 AND f.scope < $2
UNION ALL
SELECT 'skipped_now', count(*) FROM (
    SELECT s.scope, s.by_whom FROM {{schema}}.headrace_steps AS s
    WHERE s.state = 'skipped' AND s.state IN ('pending', 'parked', 'skipped', 'awaiting') AND s.changed_at > {{now}} - 3600000000
    ORDER BY s.changed_at DESC
    LIMIT $4
) AS f
WHERE f.by_whom = '' AND f.scope >= $1 AND f.scope < $2
