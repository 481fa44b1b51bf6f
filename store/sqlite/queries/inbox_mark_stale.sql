-- The message is done, and nothing was applied.
UPDATE {{schema}}.headrace_inbox SET stale = 1 WHERE scope = $1 AND key = $2 AND state = 'done'
