package cloudevents_test

import (
	"fmt"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/codec/cloudevents"
)

type order struct {
	Number int `json:"number"`
}

// The events of this service become CloudEvents, and CloudEvents of others are read. In a
// consumer it is Config.Codec, or consumer.Codec for one handler.
func Example() {
	ce, err := cloudevents.New("/shop/orders", cloudevents.Options{
		Type: func(e headrace.Event) string { return "com.example." + e.Topic },
	})
	if err != nil {
		panic(err)
	}
	e, err := ce.EncodeEvent(headrace.Event{ID: "7", Topic: "orders.placed", Value: order{Number: 7}})
	if err != nil {
		panic(err)
	}
	fmt.Println(e.Metadata["content-type"])
	fmt.Println(string(e.Payload))

	var o order
	if err := ce.DecodeDelivery(&headrace.Delivery{Payload: e.Payload, Metadata: e.Metadata}, &o); err != nil {
		panic(err)
	}
	fmt.Println(o.Number)
	// Output:
	// application/cloudevents+json
	// {"specversion":"1.0","id":"7","source":"/shop/orders","type":"com.example.orders.placed","datacontenttype":"application/json","data":{"number":7}}
	// 7
}
