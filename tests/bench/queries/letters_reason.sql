-- The reason of the first tenth.
SELECT left(md5('reason ' || 0), 16)
