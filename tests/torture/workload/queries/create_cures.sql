-- Messages whose cause of failure a person has mended.
CREATE TABLE cures (msg_id text NOT NULL)
