-- Cursors that a handler has left open: the next one may declare some of the same name.
CLOSE ALL
