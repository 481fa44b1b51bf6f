-- Shared results whose time is over.
DELETE FROM {{schema}}.headrace_memos AS m
WHERE (m.system, m.step, m.input) IN (
    SELECT o.system, o.step, o.input FROM {{schema}}.headrace_memos AS o WHERE o.until_at <= (SELECT {{now}}) LIMIT $1
)
