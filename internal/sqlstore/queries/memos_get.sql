-- The recorded result.
SELECT m.result FROM {{schema}}.headrace_memos AS m WHERE m.system = $1 AND m.step = $2 AND m.input = $3 AND m.result IS NOT NULL
