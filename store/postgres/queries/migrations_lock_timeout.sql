-- A migration that waits for a table in use blocks every later statement on that table.
SELECT set_config('lock_timeout', '2s', true)
