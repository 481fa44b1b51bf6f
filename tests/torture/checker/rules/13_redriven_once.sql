-- A letter that was redriven has one row in the audit trail, an open one none.
SELECT CAST(l.id AS text) FROM letters l WHERE (SELECT count(*) FROM audit a WHERE a.letter_id = l.id) <> (l.state = 'redriven')
