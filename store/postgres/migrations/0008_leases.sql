-- Rows of handlers that work outside of a transaction stand on a line of their own
-- (leasable), and hold a token while one of them works (leased).
ALTER TABLE {{schema}}.headrace_backlog
    ADD COLUMN token  text NOT NULL DEFAULT '',
    ADD COLUMN starts integer NOT NULL DEFAULT 0,
    DROP CONSTRAINT headrace_backlog_line_check,
    DROP CONSTRAINT headrace_backlog_check,
    ADD CONSTRAINT headrace_backlog_line_check CHECK (line IN ('ready', 'delayed', 'blocked', 'leasable', 'leased')),
    ADD CONSTRAINT headrace_backlog_check CHECK ((line IN ('delayed', 'leased')) = (due_at IS NOT NULL)),
    ADD CONSTRAINT headrace_backlog_token_check CHECK (line <> 'leased' OR token <> '');
CREATE INDEX headrace_backlog_leasable ON {{schema}}.headrace_backlog (consumer, handler, id) WHERE line = 'leasable';
CREATE INDEX headrace_backlog_leased ON {{schema}}.headrace_backlog (consumer, handler, due_at) WHERE line = 'leased';
