package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// Left implements story.Connection. What consumers hold only the management API tells, and
// late: by collect_statistics_interval and quorum_tick_interval, which are 5 s unless an operator
// says otherwise, as scripts/services and docker-compose.yml do.
func (c *connection) Left(ctx context.Context, topic, _ string) (int, error) {
	uri, err := amqp091.ParseURI(c.server.URL)
	if err != nil {
		return 0, fmt.Errorf("ask how many messages are left: %w", err)
	}
	queues, err := list(ctx, uri)
	if err != nil {
		return 0, fmt.Errorf("ask how many messages are left: %w", err)
	}
	n := 1 // of a queue that is new
	for _, q := range queues {
		if q.Name == topic && q.Messages != nil {
			n = *q.Messages
		}
	}
	late := 6 * time.Second
	if ip := net.ParseIP(uri.Host); ip != nil && ip.IsLoopback() {
		late = time.Second
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > 0 {
		delete(c.empty, topic)
		return n, nil
	}
	since, known := c.empty[topic]
	if !known {
		since = time.Now()
		c.empty[topic] = since
	}
	if time.Since(since) < late {
		return 1, nil // or more; the answer may be old
	}
	return 0, nil
}

// listed is a queue with its messages, those that are held included; nil while it is new.
type listed struct {
	Name     string `json:"name"`
	Messages *int   `json:"messages"`
}

// list asks the management API for all queues: this is younger than what the API has of a
// single queue.
func list(ctx context.Context, uri amqp091.URI) (queues []listed, err error) {
	target := url.URL{
		Scheme: "http", User: url.UserPassword(uri.Username, uri.Password), Host: management(uri),
		Path: "/api/queues/" + uri.Vhost, RawPath: "/api/queues/" + url.PathEscape(uri.Vhost),
		RawQuery: "disable_stats=true&enable_queue_totals=true",
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	if err := json.NewDecoder(answer.Body).Decode(&queues); err != nil {
		return nil, fmt.Errorf("the management API answers %s: %w", answer.Status, err)
	}
	return queues, nil
}

// management is where the management API answers: at 15672 beside 5672, and elsewhere,
// as scripts/services has it, on the port above the broker's.
func management(uri amqp091.URI) string {
	port := uri.Port + 1
	if uri.Port == 5672 {
		port = 15672
	}
	return net.JoinHostPort(uri.Host, strconv.Itoa(port))
}
