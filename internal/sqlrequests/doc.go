// Package sqlrequests contains the table of requests of a store: what people ask the processes
// of a consumer to do.
//
// The rules for its statements are those of package sqlstore.
package sqlrequests
