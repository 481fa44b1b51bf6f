package main

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/examples/router/db"
	"github.com/headrace/headrace/examples/router/shop"
	"github.com/headrace/headrace/store/sqlite"
)

// The transaction is what gorm calls a ConnPool.
var _ gorm.ConnPool = (*headrace.Tx)(nil)

// What gorm does with the transaction of a message: the transaction of its own that it
// opens around each write is left out, with and without SkipDefaultTransaction; its
// Transaction and SavePoint are refused, and Nested does their work.
func TestGormInATransaction(t *testing.T) {
	st, err := sqlite.Open(t.Context(), t.TempDir()+"/test.db", sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	if _, err := st.DB().Exec(db.Schema); err != nil {
		t.Fatal(err)
	}
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	channel := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
	done := make(chan error, 1)
	router.AddConsumerHandler("h", shop.Paid, channel, func(m *message.Message) error {
		done <- useGorm(m.Context())
		return nil
	})
	if _, err := consumer.Attach(router, st, consumer.Config{Name: "billing", Sink: &published{}}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ran := make(chan error, 1)
	go func() { ran <- router.Run(ctx) }()
	if err := channel.Publish(shop.Paid, message.NewMessage("m", nil)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	stop()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	var ids []string
	orm, err := gorm.Open(postgres.New(postgres.Config{Conn: st.DB()}))
	if err != nil {
		t.Fatal(err)
	}
	if err := orm.Model(&shop.Invoice{}).Order("order_id").Pluck("order_id", &ids).Error; err != nil {
		t.Fatal(err)
	}
	if want := []string{"plain", "plain nested", "skip", "skip nested"}; !slices.Equal(ids, want) {
		t.Errorf("%q, want %q", ids, want)
	}
	_ = channel.Close()
}

func useGorm(ctx context.Context) error {
	tx, _ := headrace.TxFrom(ctx)
	for id, config := range map[string]*gorm.Config{"plain": {}, "skip": {SkipDefaultTransaction: true}} {
		orm, err := gorm.Open(postgres.New(postgres.Config{Conn: tx}), config)
		if err != nil {
			return err
		}
		if err := orm.WithContext(ctx).Create(&shop.Invoice{OrderID: id}).Error; err != nil {
			return err
		}
		var found shop.Invoice
		if err := orm.WithContext(ctx).Where("order_id = ?", id).First(&found).Error; err != nil {
			return err
		}
		err = orm.WithContext(ctx).Transaction(func(*gorm.DB) error { return nil })
		if !errors.Is(err, gorm.ErrInvalidTransaction) {
			return errors.Join(errors.New("gorm began a transaction"), err)
		}
		undone := errors.New("undone")
		for name, result := range map[string]error{id + " nested": nil, id + " undone": undone} {
			err := tx.Nested(ctx, func(ctx context.Context, _ *headrace.Tx) error {
				return errors.Join(orm.WithContext(ctx).Create(&shop.Invoice{OrderID: name}).Error, result)
			})
			if !errors.Is(err, result) {
				return err
			}
		}
	}
	return nil
}
