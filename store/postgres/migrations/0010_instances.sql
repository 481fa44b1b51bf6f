-- Processes that run a consumer, and what one was doing in cautious mode.
CREATE TABLE {{schema}}.headrace_instances (
    id            text COLLATE "C" NOT NULL PRIMARY KEY,
    consumer      text COLLATE "C" NOT NULL,
    host          text NOT NULL,
    build         text NOT NULL,
    running_scope text COLLATE "C" NOT NULL DEFAULT '',
    running_key   text COLLATE "C" NOT NULL DEFAULT '',
    running_at    timestamptz, -- when that was written down
    started_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    beat_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    outlived_at   timestamptz, -- when another one went on as usual after its death
    ended_at      timestamptz  -- when it ended in order
) WITH (fillfactor = 50);
CREATE INDEX headrace_instances_consumer ON {{schema}}.headrace_instances (consumer);
-- Consumers that a person has paused.
CREATE TABLE {{schema}}.headrace_pauses (
    consumer   text COLLATE "C" NOT NULL PRIMARY KEY,
    by_whom    text NOT NULL,
    reason     text NOT NULL,
    at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    resumed_by text NOT NULL DEFAULT '',
    resumed_at timestamptz -- while it is NULL, the consumer is paused
);
