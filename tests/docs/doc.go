// Package docs checks the pages for users: that they are short, that their links and
// commands exist, and that the Go they show is compiled somewhere.
package docs
