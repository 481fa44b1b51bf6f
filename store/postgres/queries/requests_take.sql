-- The oldest one. One that another process takes at this moment is skipped. Who asks may give any
-- name, so what is done is by that name and the login, where the login is not that of the process.
UPDATE {{schema}}.headrace_requests SET state = 'taken', instance = $5, taken_by = $6
WHERE id = (
    SELECT r.id FROM {{schema}}.headrace_requests AS r
    WHERE r.state = 'waiting' AND r.consumer = $1 AND r.until > (SELECT {{now}})
        AND r.build IN ('', $2) AND r.host IN ('', $3) AND r.kind = ANY($4::text[])
    ORDER BY r.id
    LIMIT 1
    FOR UPDATE SKIP LOCKED
)
RETURNING id, kind, consumer, build, host, args,
    CASE WHEN db_user = session_user THEN by_whom ELSE left(by_whom, 120) || ' as ' || db_user END, reason, db_user, at, until
