-- Suspect mode begins. Where it is on already, only the time moves: what was recorded
-- since it began is known still.
UPDATE {{schema}}.headrace_meta AS m
SET suspect_until = $1, suspect_by = $2, suspect_reason = $3,
    suspect_since = CASE WHEN m.suspect_until IS NULL THEN {{now}} ELSE m.suspect_since END
WHERE m.one = 1
