-- Messages older than $2 (µs) may be removed from now on. It never goes back.
INSERT INTO {{schema}}.headrace_prunes AS p (consumer, position, due_at, cut)
VALUES ($1, '', {{now}}, {{now}} - $2::bigint * interval '1 microsecond')
ON CONFLICT (consumer) DO UPDATE SET cut = GREATEST(COALESCE(p.cut, excluded.cut), excluded.cut)
