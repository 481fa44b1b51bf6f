-- With everything that the test made in it.
DROP SCHEMA IF EXISTS {{schema}} CASCADE
