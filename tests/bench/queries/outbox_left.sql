-- Whether rows are left to publish.
SELECT EXISTS (SELECT FROM headrace_outbox) OR EXISTS (SELECT FROM headrace_outbox_held)
