-- For this transaction: names without a schema are the test's own tables first.
SELECT set_config('search_path', $1, true)
