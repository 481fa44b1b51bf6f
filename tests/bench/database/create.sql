-- A database of our own, so that other work on the server has no snapshots in it.
CREATE DATABASE {{name}}
