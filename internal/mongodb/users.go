// SPDX-License-Identifier: Apache-2.0

package mongodb

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// User is a database user that is stored in admin.
type User struct {
	// Name of the user.
	Name string
	// Password in clear text.
	Password string
	// Roles are the names of roles that are stored in admin.
	Roles []string
}

// CreateOrUpdateRole makes a role in admin have exactly these privileges. ErrNotReplicated means that the primary has
// it and that a majority did not confirm: repeat it.
func (m *Member) CreateOrUpdateRole(ctx context.Context, role Role) error {
	command := func(name string) bson.D {
		return bson.D{
			{Key: name, Value: role.Name},
			{Key: "privileges", Value: privilegesOf(role)},
			{Key: "roles", Value: bson.A{}},
			majority(),
		}
	}
	err := m.act(ctx, command("createRole"))
	if errors.Is(err, errExists) {
		return m.act(ctx, command("updateRole"))
	}
	return err
}

// CreateOrUpdateUser makes a user in admin have exactly this password and these roles. ErrNotReplicated means that
// the primary has it and that a majority did not confirm: repeat it.
func (m *Member) CreateOrUpdateUser(ctx context.Context, user User) error {
	roles := make(bson.A, 0, len(user.Roles))
	for _, name := range user.Roles {
		roles = append(roles, bson.D{{Key: "role", Value: name}, {Key: "db", Value: admin}})
	}
	command := func(name string) bson.D {
		return bson.D{
			{Key: name, Value: user.Name},
			{Key: "pwd", Value: user.Password},
			{Key: "roles", Value: roles},
			{Key: "mechanisms", Value: bson.A{mechanism}},
			majority(),
		}
	}
	err := m.act(ctx, command("createUser"), user.Password)
	if errors.Is(err, errExists) {
		return m.act(ctx, command("updateUser"), user.Password)
	}
	return err
}

// SetPassword changes the password of a user in admin and leaves the roles alone.
func (m *Member) SetPassword(ctx context.Context, username, password string) error {
	return m.act(ctx, bson.D{
		{Key: "updateUser", Value: username},
		{Key: "pwd", Value: password},
		{Key: "mechanisms", Value: bson.A{mechanism}},
		majority(),
	}, password)
}

// HasUser tells whether admin has a user of that name.
func (m *Member) HasUser(ctx context.Context, username string) (bool, error) {
	answer, err := m.ask(ctx, admin, bson.D{{Key: "usersInfo", Value: username}})
	return len(answer.list("users")) > 0, err
}

// CanAuthenticate tells whether the server at host:port takes the credentials. The error is about everything that
// keeps it from telling: then nothing is known.
func CanAuthenticate(ctx context.Context, address string, credentials Credentials) (bool, error) {
	member, err := Dial(address, Options{Credentials: credentials})
	if err != nil {
		return false, err
	}
	defer func() {
		// The answer is known; a server that does not let go politely is let go all the same.
		_ = member.Close(ctx)
	}()
	_, err = member.Hello(ctx)
	if errors.Is(err, ErrAuthenticationFailed) {
		return false, nil
	}
	return err == nil, err
}
