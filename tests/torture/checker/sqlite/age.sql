-- Moves the record of a message two days back.
UPDATE headrace_inbox SET changed_at = changed_at - 172800000000 WHERE key = $1
