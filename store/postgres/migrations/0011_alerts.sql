-- Alerts that wait to be passed on. Work only appends.
CREATE TABLE {{schema}}.headrace_alerts (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind       text NOT NULL,
    consumer   text COLLATE "C" NOT NULL,
    handler    text NOT NULL,
    topic      text NOT NULL,
    said       text NOT NULL,
    grp        text COLLATE "C" NOT NULL,
    at         timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX headrace_alerts_waiting ON {{schema}}.headrace_alerts (consumer, grp, id);
-- When one of each group was last passed on.
CREATE TABLE {{schema}}.headrace_alert_groups (
    consumer  text COLLATE "C" NOT NULL,
    grp       text COLLATE "C" NOT NULL,
    passed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (consumer, grp)
);
