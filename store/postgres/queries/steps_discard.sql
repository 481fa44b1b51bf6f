-- The steps of discarded messages need no person: what is not known of them counts as finished.
-- Those of which it is not known whether they were carried out are named.
-- The LATERAL reads each message's steps by their key, whatever the statistics say.
UPDATE {{schema}}.headrace_steps AS s
SET state = CASE WHEN s.via = '' THEN 'skipped' ELSE 'done' END, by_whom = $3, reason = $4, changed_at = {{now}}
FROM (
    SELECT r.scope, r.key, r.step
    FROM unnest($1::text[], $2::text[]) AS c (scope, key)
    CROSS JOIN LATERAL (
        SELECT o.scope, o.key, o.step FROM {{schema}}.headrace_steps AS o
        WHERE o.scope = c.scope AND o.key = c.key
        FOR UPDATE
    ) AS r
) AS d
WHERE s.scope = d.scope AND s.key = d.key AND s.step = d.step AND s.state IN ('pending', 'parked')
RETURNING s.scope, s.key, CASE WHEN s.via = '' THEN s.step ELSE '' END
