// SPDX-License-Identifier: Apache-2.0

package mongodb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

func TestKindsOf(t *testing.T) {
	code := func(code int32) error { return mongo.CommandError{Code: code, Message: "refused"} }
	lost := mongo.CommandError{Labels: []string{"NetworkError"}, Wrapped: errors.New("connection reset by peer")}
	tests := []struct {
		name   string
		err    error
		want   []error
		refuse []error
	}{
		{name: "not initialized", err: code(94), want: []error{ErrNotInitialized}, refuse: []error{ErrUnreachable}},
		{name: "already initialized", err: code(23), want: []error{ErrAlreadyInitialized}},
		{name: "authentication failed during the handshake", err: fmt.Errorf("handshake: %w", code(18)), want: []error{ErrAuthenticationFailed}, refuse: []error{ErrUnreachable}},
		{name: "unauthorized", err: code(13), want: []error{ErrUnauthorized}, refuse: []error{ErrAuthenticationFailed}},
		{name: "no electable secondary", err: code(262), want: []error{ErrExceededTimeLimit}, refuse: []error{ErrMaybeDone, ErrUnreachable}},
		{name: "not primary", err: code(10107), want: []error{ErrNotPrimary}},
		{name: "stepped down", err: code(189), want: []error{ErrNotPrimary}},
		{name: "unknown parameter of 4.2", err: mongo.CommandError{Message: "attempted to set unrecognized parameter [x]", Raw: bson.Raw{5, 0, 0, 0, 0}}, want: []error{ErrBadValue}, refuse: []error{ErrUnreachable}},
		{name: "a code that nobody decides on", err: code(9001), refuse: []error{ErrUnreachable, ErrMaybeDone}},
		{name: "write without a majority", err: mongo.WriteException{WriteConcernError: &mongo.WriteConcernError{Code: 64}}, want: []error{ErrNotReplicated}, refuse: []error{ErrUnreachable}},
		{name: "connection lost", err: lost, want: []error{ErrUnreachable}, refuse: []error{ErrMaybeDone}},
		{name: "deadline", err: fmt.Errorf("selection: %w", context.DeadlineExceeded), want: []error{ErrUnreachable, context.DeadlineExceeded}, refuse: []error{ErrMaybeDone}},
		{name: "canceled by the caller", err: context.Canceled, want: []error{context.Canceled}, refuse: []error{ErrUnreachable}},
		{name: "an argument that cannot be sent", err: mongo.MarshalError{Err: errors.New("no encoder")}, refuse: []error{ErrUnreachable}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := error(&commandError{text: "x", kinds: kindsOf(test.err)})
			for _, want := range test.want {
				if !errors.Is(got, want) {
					t.Errorf("it is not %q", want)
				}
			}
			for _, refuse := range test.refuse {
				if errors.Is(got, refuse) {
					t.Errorf("it is %q", refuse)
				}
			}
		})
	}
}

// An error names the command, the server and the cause, and no password.
func TestErrorText(t *testing.T) {
	c := &connection{address: "a:1", secrets: []string{"hunter2", ""}}
	cause := errors.New("bad auth for operator with hunter2, wanted swordfish")
	err := fmt.Errorf("create user: %w", c.failed("createUser", cause, "swordfish"))
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", errors.Unwrap(err))} {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "swordfish") {
			t.Errorf("a password shows in %s", text)
		}
	}
	if want := "create user: createUser on a:1: bad auth for operator with [secret], wanted [secret]"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestMemberIdentity(t *testing.T) {
	got := MemberIdentity([]byte("YWJj\r\n ZGVm\t\n"))
	want := Credentials{Username: "__system", Password: "YWJjZGVm", Source: "local"}
	if got != want {
		t.Errorf("got user %q, source %q, %d characters of key", got.Username, got.Source, len(got.Password))
	}
}

func TestCredentialsHideThePassword(t *testing.T) {
	holder := struct{ C Credentials }{Credentials{Username: "operator", Password: "hunter2", Source: "admin"}}
	encoded, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprint(holder), fmt.Sprintf("%+v", holder), fmt.Sprintf("%#v", holder), holder.C.String(), fmt.Sprintf("%q", &holder.C), string(encoded),
	} {
		if strings.Contains(text, "hunter2") || !strings.Contains(text, "operator@admin") {
			t.Errorf("shown as %s", text)
		}
	}
	if got := (Credentials{}).String(); got != "nobody" {
		t.Errorf("no credentials are shown as %s", got)
	}
}

func TestDialRefusesNoAddress(t *testing.T) {
	for _, addresses := range [][]string{nil, {""}, {" "}} {
		if _, err := DialMongos(Options{}, addresses...); err == nil {
			t.Errorf("%q was dialled", addresses)
		}
	}
}

// An empty string is refused before anything is sent.
func TestEmptyRuntimeConfig(t *testing.T) {
	member, err := Dial("127.0.0.1:1", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := member.SetWiredTigerRuntimeConfig(t.Context(), " "); !errors.Is(err, ErrBadValue) {
		t.Errorf("an empty string: %v", err)
	}
	if err := member.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
