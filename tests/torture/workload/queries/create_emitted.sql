-- What handlers published, written in their own transactions.
CREATE TABLE emitted (event_id text NOT NULL, cause text NOT NULL, sum text NOT NULL)
