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
	// field total_price: string expected, number found true
	// not JSON: unexpected end at byte 14 true
}

func ExampleRaw() {
	var body string
	err := codec.Raw().Decode([]byte("id;total\n10492;99.00\n"), &body)
	fmt.Printf("%q %v\n", body, err)
	// Output:
	// "id;total\n10492;99.00\n" <nil>
}
