-- Before many rows come at once: they are sorted faster than they are inserted.
ALTER TABLE headrace_inbox DROP CONSTRAINT headrace_inbox_pkey
