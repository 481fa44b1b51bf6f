-- Returns its argument: the answer shows that the connection answers this statement.
SELECT CAST($1 AS BIGINT)
