-- The first result stays.
INSERT INTO {{schema}}.headrace_memos AS m (system, step, input, token, result, until_at)
VALUES ($1, $2, $3, '', $4, {{now}} + $5::bigint * interval '1 microsecond')
ON CONFLICT (system, step, input) DO UPDATE SET token = '', result = excluded.result, until_at = excluded.until_at
WHERE m.result IS NULL OR m.until_at <= {{now}}
