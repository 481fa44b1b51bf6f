-- Whether there is a result; if not, how much longer another caller may make the call.
SELECT m.result IS NOT NULL, (extract(epoch FROM m.until_at - {{now}}) * 1000000)::bigint
FROM {{schema}}.headrace_memos AS m
WHERE m.system = $1 AND m.step = $2 AND m.input = $3 AND m.until_at > {{now}} AND m.token <> $4
