-- A letter is byte for byte the message, with its class, attempts, times and where it stood.
SELECT l.key || ' ' || l.class FROM letters l JOIN sent s ON s.id = l.key
WHERE l.sum <> s.sum OR l.coordinates = '' OR l.first_us = 0 OR l.last_us < l.first_us
OR (l.class IN ('permanent', 'exhausted') AND l.attempts = 0)
OR (s.kind = 'exhausted' AND l.class NOT IN ('exhausted', 'crashed')) OR (s.kind IN ('poison', 'curable') AND l.class NOT IN ('permanent', 'exhausted', 'crashed'))
