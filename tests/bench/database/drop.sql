-- With whatever sessions are left in it.
DROP DATABASE IF EXISTS {{name}} WITH (FORCE)
