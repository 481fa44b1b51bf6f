-- Alerts that nobody has counted yet. Work only appends. Their namespace is the
-- consumer, or '' for the relay.
CREATE TABLE {{schema}}.headrace_alerts (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    consumer    text COLLATE "C" NOT NULL,
    grp         text COLLATE "C" NOT NULL,
    kind        text NOT NULL,
    handler     text NOT NULL,
    topic       text NOT NULL,
    class       text NOT NULL,
    error_print text NOT NULL,
    letter_id   bigint NOT NULL,
    at          timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX headrace_alerts_waiting ON {{schema}}.headrace_alerts (consumer, id);
-- What is known of each group: the newest of its alerts, how many wait since when,
-- and when it is due.
CREATE TABLE {{schema}}.headrace_alert_groups (
    consumer    text COLLATE "C" NOT NULL,
    grp         text COLLATE "C" NOT NULL,
    kind        text NOT NULL,
    handler     text NOT NULL,
    topic       text NOT NULL,
    class       text NOT NULL,
    error_print text NOT NULL,
    letter_id   bigint NOT NULL,
    waiting     bigint NOT NULL CHECK (waiting >= 0),
    since       timestamptz NOT NULL,
    at          timestamptz NOT NULL,
    failures    integer NOT NULL DEFAULT 0,
    due_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    tried_at    timestamptz,
    passed_at   timestamptz,
    PRIMARY KEY (consumer, grp)
) WITH (fillfactor = 70);
CREATE INDEX headrace_alert_groups_due ON {{schema}}.headrace_alert_groups (consumer, due_at) WHERE waiting > 0;
CREATE INDEX headrace_alert_groups_tried ON {{schema}}.headrace_alert_groups (consumer, tried_at);
-- Who passes on the alerts of a namespace, and until when nobody else does.
CREATE TABLE {{schema}}.headrace_alert_readers (
    consumer    text COLLATE "C" NOT NULL PRIMARY KEY,
    owner       text NOT NULL,
    until       timestamptz NOT NULL
) WITH (fillfactor = 50);
