-- A row goes, unless a process works on it under a lease.
DELETE FROM {{schema}}.headrace_backlog WHERE id = $1 AND NOT (status = 'leased' AND due_at > (SELECT {{now}}))
