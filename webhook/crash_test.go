package webhook_test

const childVariable = "HEADRACE_WEBHOOK_TEST_CHILD"

func child() {}
