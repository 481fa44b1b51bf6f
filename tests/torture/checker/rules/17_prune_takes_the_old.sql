-- After a prune the old records are gone, and the others are not.
SELECT i.key FROM inbox i JOIN aged a ON a.id = i.key WHERE i.state = 'done' AND (SELECT value FROM run WHERE name = 'pruned') = 1
