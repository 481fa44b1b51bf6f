// Package after is the service of package before, made safe. The test of the example
// counts what is different.
package after
