package docs_test

import (
	"crypto/tls"
	"database/sql"
	"net/url"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	_ "github.com/lib/pq"
	natsgo "github.com/nats-io/nats.go"
	goredis "github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/headrace/headrace/broker/amqp"
	"github.com/headrace/headrace/broker/kafka"
	"github.com/headrace/headrace/broker/nats"
)

// What docs/brokers.md shows of TLS and credentials is accepted by the clients. That it works
// is shown by the TLS test of each adapter.
func TestTLSOptions(t *testing.T) {
	secure, password, brokers := &tls.Config{MinVersion: tls.VersionTLS12}, "p/ss", []string{"kafka.example.com:9093"}
	user := scram.Auth{User: "billing", Pass: password}.AsSha256Mechanism()
	k, err := kafka.NewSource(
		kafka.SourceOptions{Brokers: brokers, Group: "billing", Client: []kgo.Opt{kgo.DialTLSConfig(secure), kgo.SASL(user)}},
	)
	if err != nil {
		t.Fatal(err)
	}
	_ = k.Close()
	server := amqp.Server{URL: "amqps://billing:" + url.QueryEscape(password) + "@rabbit.example.com:5671/", TLS: secure}
	a, err := amqp.NewSource(amqp.SourceOptions{Server: server})
	if err != nil {
		t.Fatal(err)
	}
	_ = a.Close()
	_ = nats.Server{URL: "tls://nats.example.com:4222", Options: []natsgo.Option{natsgo.Secure(secure), natsgo.UserCredentials("billing.creds")}}
	_ = goredis.NewClient(&goredis.Options{Addr: "redis.example.com:6379", Username: "billing", Password: password, TLSConfig: secure}).Close()
	db, err := sql.Open("postgres", "postgres://billing@db.example.com/shop?sslmode=verify-full&sslrootcert=authority.pem")
	if err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
	config := aws.Config{}
	awssqs.NewFromConfig(config)
}
