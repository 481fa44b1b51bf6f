-- That a request was refused. Its login is in the detail: the row has that of the process.
INSERT INTO {{schema}}.headrace_audit (subject_kind, subject, action, by_whom, reason, detail, at)
SELECT 'request', CAST(r.id AS TEXT), 'refuse', r.by_whom, r.reason,
    r.kind || ' of ' || r.consumer || CASE WHEN r.db_user = '' THEN '' ELSE ' by the login ' || r.db_user END || ': ' || r.error, {{now}}
FROM {{schema}}.headrace_requests AS r
WHERE r.id = $1
