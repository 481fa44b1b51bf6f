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
// late: by collect_statistics_interval and quorum_tick_interval, which are 5 s unless somebody
// says otherwise, as scripts/services and docker-compose.yml do.
func (c *connection) Left(ctx context.Context, topic, _ string) (int, error) {
	uri, err := amqp091.ParseURI(c.server.URL)
	if err != nil {
		return 0, fmt.Errorf("ask how many messages are left: %w", err)
	}
	n, err := messages(ctx, uri, topic)
	if err != nil {
		return 0, fmt.Errorf("ask how many messages are left: %w", err)
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

// messages asks the management API for a queue's messages, those that are held included.
// This list is younger than what the API has of a single queue.
func messages(ctx context.Context, uri amqp091.URI, queue string) (int, error) {
	target := url.URL{
		Scheme: "http", User: url.UserPassword(uri.Username, uri.Password), Host: management(uri),
		Path: "/api/queues/" + uri.Vhost, RawPath: "/api/queues/" + url.PathEscape(uri.Vhost),
		RawQuery: "disable_stats=true&enable_queue_totals=true",
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	var queues []struct {
		Name     string `json:"name"`
		Messages *int   `json:"messages"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&queues); err != nil {
		return 0, fmt.Errorf("the management API answers %s: %w", answer.Status, err)
	}
	for _, q := range queues {
		if q.Name == queue && q.Messages != nil {
			return *q.Messages, nil
		}
	}
	return 1, nil // a queue that is new
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
