package codec_test

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace/codec"
)

func ExampleJSON() {
	var order struct {
		Total string `json:"total_price"`
	}
	for _, payload := range []string{`{"total_price":"99.00"}`, `{"total_price":99}`, `{"total_price"`} {
		err := codec.JSON().Decode([]byte(payload), &order)
		fmt.Println(err, errors.Is(err, codec.ErrUndecodable))
	}
	// Output:
	// <nil> false
	// field total_price: string expected, number found at byte 15 true
	// not JSON: unexpected end at byte 14 true
}

type invoice struct {
	ID    string `json:"id"`
	Total int    `json:"total"`
}

// A sender that renames a member makes dead letters, not invoices without a number.
func ExampleStrict() {
	var order invoice
	c := codec.JSON(codec.Strict(), codec.Required("id", "total"))
	for _, payload := range []string{`{"id":"10492","total":9900}`, `{"id":"10492"}`, `{"order_id":"10492","total":9900}`} {
		fmt.Println(c.Decode([]byte(payload), &order))
	}
	// Output:
	// <nil>
	// field total: required, and missing or null
	// a member that codec_test.invoice has no field for at byte 1
}

func ExampleRequired() {
	var order struct {
		ID string `json:"id"`
	}
	for _, c := range []codec.Codec{codec.JSON(), codec.JSON(codec.Required("id"))} {
		err := c.Decode([]byte(`{"order_id":"10492"}`), &order)
		fmt.Printf("%q %v\n", order.ID, err)
	}
	// Output:
	// "" <nil>
	// "" field id: required, and missing or null
}

func ExampleRaw() {
	var body string
	err := codec.Raw().Decode([]byte("id;total\n10492;99.00\n"), &body)
	fmt.Printf("%q %v\n", body, err)
	// Output:
	// "id;total\n10492;99.00\n" <nil>
}
