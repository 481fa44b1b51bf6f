-- Events to publish, the ready line: one index, and rows that live shortly.
CREATE SEQUENCE {{schema}}.headrace_outbox_id;
CREATE TABLE {{schema}}.headrace_outbox (
    shard      smallint NOT NULL CHECK (shard >= 0 AND shard < 16),
    id         bigint NOT NULL DEFAULT nextval($headrace${{schema}}.headrace_outbox_id$headrace$),
    message_id text NOT NULL,
    topic      text NOT NULL,
    order_key  text COLLATE "C" NOT NULL,
    payload    bytea NOT NULL,
    metadata   bytea NOT NULL,
    trace_parent text NOT NULL,
    trace_state  text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (shard, id)
) WITH (autovacuum_vacuum_scale_factor = 0.01);
-- Events held back: delayed, refused by the sink and tried again later, parked, or
-- behind one of those. A held row keeps its id, and with it its place in the order.
CREATE TABLE {{schema}}.headrace_outbox_held (
    shard      smallint NOT NULL CHECK (shard >= 0 AND shard < 16),
    id         bigint NOT NULL DEFAULT nextval($headrace${{schema}}.headrace_outbox_id$headrace$),
    reason     text NOT NULL CHECK (reason IN ('delayed', 'backoff', 'parked', 'behind')),
    due_at     timestamptz, -- of delayed and backoff rows
    attempts   integer NOT NULL,
    error      text NOT NULL,
    message_id text NOT NULL,
    topic      text NOT NULL,
    order_key  text COLLATE "C" NOT NULL,
    payload    bytea NOT NULL,
    metadata   bytea NOT NULL,
    trace_parent text NOT NULL,
    trace_state  text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (shard, id),
    CHECK ((reason IN ('delayed', 'backoff')) = (due_at IS NOT NULL)),
    CHECK (reason <> 'behind' OR order_key <> '')
) WITH (autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX headrace_outbox_held_due ON {{schema}}.headrace_outbox_held (shard, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX headrace_outbox_held_order ON {{schema}}.headrace_outbox_held (shard, topic, order_key, id) WHERE reason <> 'delayed' AND order_key <> '';
CREATE INDEX headrace_outbox_held_parked ON {{schema}}.headrace_outbox_held (id) WHERE reason = 'parked';
