package nats_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"time"
)

// sendRaw sends a message whose header block no client would write, by hand over TCP.
func (s server) sendRaw(block string) func(ctx context.Context, topic string, body []byte) error {
	return func(ctx context.Context, topic string, body []byte) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Addr())
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			return err
		}
		_, err = fmt.Fprintf(conn, "CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\nSUB answer 1\r\nHPUB %s answer %d %d\r\n%s%s\r\n",
			topic, len(block), len(block)+len(body), block, body)
		if err != nil {
			return err
		}
		lines := bufio.NewScanner(conn)
		for lines.Scan() {
			switch line := lines.Text(); {
			case strings.HasPrefix(line, "-ERR"):
				return fmt.Errorf("the server says %s", line)
			case strings.HasPrefix(line, `{"stream":`):
				return nil
			}
		}
		return fmt.Errorf("the stream does not confirm: %w", lines.Err())
	}
}
