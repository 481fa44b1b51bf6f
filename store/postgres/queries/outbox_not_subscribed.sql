-- Fails, with these words: what a Subscriber of watermill-sql runs to receive.
SELECT CAST('the outbox of headrace is published by its relay; it has no subscribers' AS integer)
