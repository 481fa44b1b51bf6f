package router

import (
	"fmt"
	"reflect"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// checkTimes returns an error if the Router stops waiting before the handlers have had
// drain: Run would return nil although they still run.
func checkTimes(router *message.Router, drain time.Duration) error {
	closes, known := closeTimeout(router)
	if known && drain >= closes {
		return fmt.Errorf("option Config.DrainTimeout (%s) is not below the Router's CloseTimeout (%s), and Router.Run waits no longer than that: lower DrainTimeout, or raise CloseTimeout", drain, closes)
	}
	return nil
}

// closeTimeout returns RouterConfig.CloseTimeout, which a Router does not tell; false if
// this version of Watermill keeps it elsewhere.
func closeTimeout(router *message.Router) (time.Duration, bool) {
	config := reflect.ValueOf(router).Elem().FieldByName("config")
	if config.Kind() != reflect.Struct {
		return 0, false
	}
	d := config.FieldByName("CloseTimeout")
	if !d.IsValid() || d.Type() != reflect.TypeFor[time.Duration]() {
		return 0, false
	}
	return time.Duration(d.Int()), true
}
