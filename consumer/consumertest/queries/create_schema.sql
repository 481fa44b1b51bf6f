-- A schema of a test's own.
CREATE SCHEMA {{schema}}
