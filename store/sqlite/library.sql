-- The version of the library that is linked in; asked without any file.
SELECT sqlite_version()
