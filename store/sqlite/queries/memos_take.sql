-- The caller that inserts the row, or finds it expired, makes the call. A caller that has it
-- already gets a new term.
INSERT INTO {{schema}}.headrace_memos AS m (system, step, input, token, until_at)
VALUES ($1, $2, $3, $4, {{now}} + $5)
ON CONFLICT (system, step, input) DO UPDATE SET token = excluded.token, until_at = excluded.until_at, result = NULL
WHERE m.until_at <= {{now}} OR m.token = excluded.token
