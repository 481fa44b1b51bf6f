-- The primary key, as the migration made it.
ALTER TABLE headrace_inbox ADD CONSTRAINT headrace_inbox_pkey PRIMARY KEY (scope, key)
