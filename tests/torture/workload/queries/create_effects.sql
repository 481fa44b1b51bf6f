-- No unique index: it would hide a second effect.
CREATE TABLE effects (msg_id text NOT NULL, topic text NOT NULL, amount bigint NOT NULL, sum text NOT NULL)
