-- A message for one group, until it is acknowledged. To publish by hand give topic, consumer_group and
-- payload, of which NULL is a tombstone. due_at is when it may be given (again): while it is held, when its holder's word runs out.
CREATE TABLE IF NOT EXISTS {{schema}}.headrace_queue (
    topic          text COLLATE "C" NOT NULL,
    consumer_group text COLLATE "C" NOT NULL,
    id             bigint GENERATED ALWAYS AS IDENTITY,
    due_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    sent_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    holder         bigint NOT NULL DEFAULT 0,
    deliveries     integer NOT NULL DEFAULT 0,
    uuid           text NOT NULL DEFAULT '',
    order_key      text NOT NULL DEFAULT '',
    metadata       json NOT NULL DEFAULT '{}',
    payload        bytea,
    PRIMARY KEY (topic, consumer_group, id),
    FOREIGN KEY (topic, consumer_group) REFERENCES {{schema}}.headrace_queue_groups ON DELETE CASCADE
)
