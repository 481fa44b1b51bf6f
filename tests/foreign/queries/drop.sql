-- Removes what a trial has made.
DROP SCHEMA {{schema}} CASCADE
