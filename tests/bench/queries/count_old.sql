-- The messages that retention lets go.
SELECT count(*) FROM headrace_inbox WHERE changed_at < now() - interval '60 days'
