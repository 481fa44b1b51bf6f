// Package deploy tests the files of the folder deploy: that the rules for Prometheus do what their
// scenarios say, and that each metric, label and value in the rules and in the dashboard is one
// that a consumer exports.
package deploy
