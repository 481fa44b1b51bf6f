-- A migration that waits for a table in use would hold up everyone behind it.
SELECT set_config('lock_timeout', '30s', true)
