-- Moves the record of a message two days back.
UPDATE headrace_inbox SET changed_at = changed_at - interval '2 days' WHERE key = $1
