-- Processes that run a consumer, and what one was doing in cautious mode.
CREATE TABLE {{schema}}.headrace_instances (
    id            text COLLATE "C" NOT NULL PRIMARY KEY,
    consumer      text COLLATE "C" NOT NULL,
    host          text NOT NULL,
    build         text NOT NULL,
    running_scope text COLLATE "C" NOT NULL DEFAULT '',
    running_key   text COLLATE "C" NOT NULL DEFAULT '',
    started_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    beat_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at      timestamptz
) WITH (fillfactor = 50);
-- Consumers that a person has paused.
CREATE TABLE {{schema}}.headrace_pauses (
    consumer  text COLLATE "C" NOT NULL PRIMARY KEY,
    by_whom   text NOT NULL,
    reason    text NOT NULL,
    at        timestamptz NOT NULL DEFAULT clock_timestamp()
);
