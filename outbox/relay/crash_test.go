package relay_test

const childVariable = "HEADRACE_RELAY_CHILD"

func child() {}
