-- The durable work list. Ready rows (line 'ready') stand in one partial index that
-- leads with what a worker asks for; delayed and blocked rows stand in others, so
-- that a look for work never walks over them. id comes from a sequence, and a row
-- gets a new one each time that it becomes ready.
CREATE SEQUENCE {{schema}}.headrace_backlog_id;
CREATE TABLE {{schema}}.headrace_backlog (
    id          bigint NOT NULL DEFAULT nextval($headrace${{schema}}.headrace_backlog_id$headrace$),
    consumer    text COLLATE "C" NOT NULL,
    shard       smallint NOT NULL CHECK (shard >= 0 AND shard < 16),
    line        text NOT NULL CHECK (line IN ('ready', 'delayed', 'blocked')),
    due_at      timestamptz, -- of a delayed row
    handler     text COLLATE "C" NOT NULL,
    scope       text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    order_key   text COLLATE "C" NOT NULL,
    strict      boolean NOT NULL,
    fingerprint text NOT NULL,
    message_id  text NOT NULL,
    topic       text NOT NULL,
    payload     bytea NOT NULL,
    metadata    bytea NOT NULL,
    coordinates text NOT NULL, -- JSON
    trace_parent text NOT NULL,
    trace_state  text NOT NULL,
    attempt     integer NOT NULL, -- the run to come
    spent       integer NOT NULL, -- attempts before the last redrive
    letter_id   bigint NOT NULL,  -- redriven from; 0 if not
    redrives    integer NOT NULL,
    ready_at    timestamptz NOT NULL DEFAULT clock_timestamp(), -- when it was put on its line
    PRIMARY KEY (scope, key),
    CHECK ((line = 'delayed') = (due_at IS NOT NULL)),
    CHECK (line <> 'blocked' OR (strict AND order_key <> ''))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01);
CREATE UNIQUE INDEX headrace_backlog_row ON {{schema}}.headrace_backlog (id);
CREATE INDEX headrace_backlog_ready ON {{schema}}.headrace_backlog (consumer, shard, id) WHERE line = 'ready';
CREATE INDEX headrace_backlog_due ON {{schema}}.headrace_backlog (consumer, due_at) WHERE line = 'delayed';
CREATE INDEX headrace_backlog_order ON {{schema}}.headrace_backlog (scope, order_key, id) WHERE strict AND order_key <> '';
