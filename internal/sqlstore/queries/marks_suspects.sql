-- The suspects of a consumer, those first that were there at most deaths.
SELECT s.message, s.alone, s.beside
FROM {{schema}}.headrace_suspects AS s
WHERE s.consumer = $1
ORDER BY s.alone DESC, s.beside DESC, s.message
LIMIT $2
