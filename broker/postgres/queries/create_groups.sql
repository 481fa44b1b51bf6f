-- Who subscribed to what: each group of a topic has a queue of its own. made tells a queue from one of
-- the same name that was removed.
CREATE TABLE IF NOT EXISTS {{schema}}.headrace_queue_groups (
    topic          text COLLATE "C" NOT NULL,
    consumer_group text COLLATE "C" NOT NULL,
    made           timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (topic, consumer_group)
)
