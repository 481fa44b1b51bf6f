package brokertest

// scenarios are all of them, the quick ones first.
var scenarios = []scenario{}
