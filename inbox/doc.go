package inbox
