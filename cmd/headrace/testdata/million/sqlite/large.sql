-- The oldest letters of a handler are large.
UPDATE headrace_dead_letters SET payload = zeroblob(131072) WHERE handler = 'h6' AND id <= 4800
