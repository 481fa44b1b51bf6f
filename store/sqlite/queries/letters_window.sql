-- The newest letters of a span, at most $6: where they end, and how many there are. An index has
-- those of a source ($1): all letters, the open ones, a group ($3), a key ($3), or ids ($2).
SELECT COALESCE(min(w.id), 0), count(*)
FROM (
    SELECT l.id
    FROM (
        {{letters_of_source}}
    ) AS l
    ORDER BY l.id DESC
    LIMIT $6
) AS w
