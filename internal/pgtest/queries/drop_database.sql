-- FORCE ends the sessions that a test has left open.
DROP DATABASE IF EXISTS {{name}} WITH (FORCE);
