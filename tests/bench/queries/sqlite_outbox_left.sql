-- Whether rows are left to publish.
SELECT EXISTS (SELECT 1 FROM headrace_outbox) OR EXISTS (SELECT 1 FROM headrace_outbox_held)
