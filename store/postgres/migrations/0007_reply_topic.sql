-- Where what a Router's handler returns is published, kept with a message that is
-- run again later.
ALTER TABLE {{schema}}.headrace_backlog ADD COLUMN reply_topic text NOT NULL DEFAULT '';
ALTER TABLE {{schema}}.headrace_dead_letters ADD COLUMN reply_topic text NOT NULL DEFAULT '';
