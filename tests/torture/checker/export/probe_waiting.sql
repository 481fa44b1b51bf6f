-- What has not come to an end.
SELECT (SELECT count(*) FROM headrace_backlog) + (SELECT count(*) FROM headrace_outbox) + (SELECT count(*) FROM headrace_outbox_held)
