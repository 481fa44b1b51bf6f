-- Shared results whose time is over.
DELETE FROM {{schema}}.headrace_memos AS m
WHERE m.ctid = ANY (ARRAY (
    SELECT o.ctid FROM {{schema}}.headrace_memos AS o WHERE o.until_at <= (SELECT {{now}}) LIMIT $1 FOR UPDATE SKIP LOCKED
))
