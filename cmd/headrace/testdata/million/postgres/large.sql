-- The oldest letters of a handler are large.
UPDATE headrace_dead_letters SET payload = convert_to(repeat('x', 131072), 'UTF8') WHERE handler = 'h6' AND id <= 4800
