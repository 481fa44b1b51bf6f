package consumer

import (
	"fmt"
	"reflect"
	"runtime"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/chain"
)

// installed is a middleware that a Router has.
type installed struct {
	code    uintptr
	handler string // "" for all of them
}

// middlewares reads the middlewares of router, outermost first. Watermill does not
// export them; where they are not found as v1.5 keeps them, known is false.
func middlewares(router *message.Router) (list []installed, known bool) {
	field := reflect.ValueOf(router).Elem().FieldByName("middlewares")
	if !field.IsValid() || field.Kind() != reflect.Slice || field.Type().Elem().Kind() != reflect.Struct {
		return nil, false
	}
	for i := range field.Len() {
		f, name := field.Index(i).FieldByName("Handler"), field.Index(i).FieldByName("HandlerName")
		if !f.IsValid() || f.Kind() != reflect.Func || !name.IsValid() || name.Kind() != reflect.String {
			return nil, false
		}
		if !f.IsNil() {
			list = append(list, installed{f.Pointer(), name.String()})
		}
	}
	return list, true
}

// attachedCode is the code of every attachment's middleware.
var attachedCode = chain.Code((*attachment)(nil).middleware)

// checkOnce refuses a second Attach.
func checkOnce(router *message.Router) error {
	list, _ := middlewares(router)
	for _, m := range list {
		if m.code == attachedCode {
			return fmt.Errorf("%w: consumer.Attach was called before with this Router: one Attach is for all of its handlers", headrace.ErrOrder)
		}
	}
	return nil
}

// scan says what is wrong with the middlewares of router when it starts. What it cannot
// see, a middleware within a function of the program's own, is found at the first message.
func (a *attachment) scan(router *message.Router) error {
	list, _ := middlewares(router)
	inside := false
	for _, m := range list {
		if m.code == attachedCode {
			inside = true
			continue
		}
		of := ""
		if m.handler != "" {
			of = fmt.Sprintf("handler %q: ", m.handler)
		}
		if why := rival(chain.KnownCode(m.code)); why != "" {
			return fmt.Errorf("%s%w: %s", of, headrace.ErrOrder, why)
		}
		if inside {
			return fmt.Errorf("%s%w", of, late(runtime.FuncForPC(m.code).Name()))
		}
	}
	return nil
}
