package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"time"
)

// tick is the unit of /proc, the same on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// serverTime sums the processor time of the server's processes for our database, as
// far as this machine can tell: 0 where the server is another one's, or there is no
// /proc. What the checkpointer and its kind do is not in it.
func (l *lab) serverTime(ctx context.Context) time.Duration {
	if !l.local() {
		return 0
	}
	rows, err := l.db.QueryContext(ctx, l.query("backends"))
	if err != nil {
		return 0
	}
	defer func() { _ = rows.Close() }()
	var total time.Duration
	for rows.Next() {
		var pid int
		if rows.Scan(&pid) == nil {
			total += processTime(pid)
		}
	}
	return total
}

func (l *lab) local() bool {
	u, err := url.Parse(l.dsn)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// processTime is what a process has used; 0 where it is gone.
func processTime(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, stat, _ = bytes.Cut(stat, []byte(") ")) // the name before may hold anything
	fields := bytes.Fields(stat)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(string(fields[11])) // utime and stime
	system, _ := strconv.Atoi(string(fields[12]))
	return time.Duration(user+system) * tick
}
