-- One list for each order key, appended to by the strict handler.
CREATE TABLE lists (key text PRIMARY KEY, items text NOT NULL)
