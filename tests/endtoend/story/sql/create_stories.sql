-- Over a broker: which topics are this database's.
CREATE TABLE IF NOT EXISTS orders_stories (
    one  integer PRIMARY KEY CHECK (one = 1),
    name text NOT NULL
)
