-- Who did what to a dead letter, and why.
CREATE TABLE {{schema}}.headrace_audit (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    letter_id bigint NOT NULL,
    action    text NOT NULL CHECK (action IN ('redrive', 'discard')),
    by_whom   text NOT NULL,
    reason    text NOT NULL,
    new_key   text NOT NULL DEFAULT '',
    at        timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX headrace_audit_letter ON {{schema}}.headrace_audit (letter_id, id);
