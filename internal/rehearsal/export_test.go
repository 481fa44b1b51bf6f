package rehearsal

// Spread is spread.
var Spread = spread
