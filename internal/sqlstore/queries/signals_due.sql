-- A message that waits runs again. What it was put off for is over.
UPDATE {{schema}}.headrace_backlog AS b SET due_at = {{now}}, postponed_at = NULL WHERE b.id = $1 AND b.status = 'delayed'
