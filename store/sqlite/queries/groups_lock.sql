-- One process at a time counts: the one that has the file.
SELECT {{now}}, true
