-- A shared result without its value is that of a call under way, and one with it of none.
SELECT count(*), COALESCE(min(m.system || ' ' || m.step || ' ' || m.input), '')
FROM {{schema}}.headrace_memos AS m
WHERE (m.result IS NULL) = (m.token = '')
