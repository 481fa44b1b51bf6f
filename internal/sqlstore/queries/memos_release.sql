-- A call has failed: another caller may make it.
DELETE FROM {{schema}}.headrace_memos AS m WHERE m.system = $1 AND m.step = $2 AND m.input = $3 AND m.token = $4 AND m.result IS NULL
