-- What the rules read.
CREATE TABLE run (name text PRIMARY KEY, value integer NOT NULL);
CREATE TABLE sent (id text PRIMARY KEY, topic text, key text, n integer, kind text, amount integer, sum text, outcome text);
CREATE TABLE acked (id text);
CREATE TABLE downstream (n integer, event_id text, topic text, cause text, sum text);
CREATE TABLE aged (id text PRIMARY KEY);
CREATE TABLE expired (id text);
CREATE TABLE effects (msg_id text, topic text, amount integer, sum text);
CREATE TABLE emitted (event_id text, cause text, sum text);
CREATE TABLE items (key text, pos integer, msg_id text);
CREATE TABLE inbox (scope text, key text, state text, stale integer);
CREATE TABLE attempts (key text, n integer, class text, at_us integer);
CREATE TABLE letters (id integer, state text, class text, key text, attempts integer, sum text, coordinates text, first_us integer, last_us integer);
CREATE TABLE audit (letter_id integer, action text);
CREATE TABLE outbox (event_id text, reason text);
CREATE TABLE backlog (key text, status text);
CREATE INDEX effects_id ON effects (msg_id);
CREATE INDEX inbox_key ON inbox (key);
CREATE INDEX letters_key ON letters (key);
CREATE INDEX attempts_key ON attempts (key);
CREATE INDEX emitted_cause ON emitted (cause);
CREATE INDEX emitted_id ON emitted (event_id);
CREATE INDEX downstream_id ON downstream (event_id);
CREATE INDEX items_id ON items (msg_id);
CREATE INDEX items_key ON items (key, pos)
