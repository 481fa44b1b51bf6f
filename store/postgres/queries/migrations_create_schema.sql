-- The schema that the store was told to use.
CREATE SCHEMA IF NOT EXISTS {{schema}}
