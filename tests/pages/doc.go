// Package pages replaces parts of a page that programs write: what stands between the marks
// <!-- NAME: begin --> and <!-- NAME: end -->, each on a line of its own.
package pages
