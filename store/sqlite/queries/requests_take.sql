-- The oldest one.
UPDATE {{schema}}.headrace_requests SET state = 'taken', instance = $5, taken_by = $6
WHERE id = (
    SELECT r.id FROM {{schema}}.headrace_requests AS r
    WHERE r.state = 'waiting' AND r.consumer = $1 AND r.until > (SELECT {{now}})
        AND r.build IN ('', $2) AND r.host IN ('', $3) AND r.kind IN (SELECT k.value FROM json_each($4) AS k)
    ORDER BY r.id
    LIMIT 1
)
RETURNING id, kind, consumer, build, host, args, by_whom, reason, db_user, at, until
