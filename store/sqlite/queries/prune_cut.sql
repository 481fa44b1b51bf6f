-- Messages older than $2 (µs) may be removed from now on. It never goes back.
INSERT INTO {{schema}}.headrace_prunes AS p (consumer, position, due_at, cut)
VALUES ($1, '', {{now}}, {{now}} - $2)
ON CONFLICT (consumer) DO UPDATE SET cut = max(COALESCE(p.cut, excluded.cut), excluded.cut)
