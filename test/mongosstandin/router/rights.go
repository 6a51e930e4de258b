// SPDX-License-Identifier: Apache-2.0

package router

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/mongotuning/mongotuning/test/mongosstandin/configserver"
)

// right is an action on a resource, the unit in which MongoDB grants what a user may do. The zero resource is the
// cluster; a database without a collection is the database as a whole.
type right struct {
	action     string
	database   string
	collection string
}

// privilege is one grant, as connectionStatus shows it.
type privilege struct {
	Resource resource `bson:"resource"`
	Actions  []string `bson:"actions"`
}

// resource is what a grant is on. Names are pointers, for an empty name means any and a missing one means nothing.
type resource struct {
	IsAny      bool    `bson:"anyResource"`
	IsCluster  bool    `bson:"cluster"`
	Database   *string `bson:"db"`
	Collection *string `bson:"collection"`
}

// covers follows the server's rules: a grant on any database does not reach local and config.
func (p privilege) covers(r right) bool {
	if !slices.Contains(p.Actions, r.action) && !slices.Contains(p.Actions, "anyAction") {
		return false
	}
	switch {
	case p.Resource.IsAny:
		return true
	case r.database == "":
		return p.Resource.IsCluster
	case p.Resource.Database == nil || p.Resource.Collection == nil:
		return false
	}
	database, collection := *p.Resource.Database, *p.Resource.Collection
	if database == "" && collection == "" {
		return r.database != "local" && r.database != "config"
	}
	isDatabase := database == r.database || database == ""
	return isDatabase && (collection == r.collection || collection == "")
}

// connectionStatus is who a connection is logged in as and what that grants.
type connectionStatus struct {
	AuthInfo struct {
		Users      []bson.Raw  `bson:"authenticatedUsers"`
		Privileges []privilege `bson:"authenticatedUserPrivileges"`
	} `bson:"authInfo"`
}

// checkRight asks the real server what the client's own connection may do. It returns the refusal to answer with, or
// nil when the client has the right.
func (c *session) checkRight(ctx context.Context, r request, needed right) (bson.D, error) {
	if !c.server.set.RequiresAuthentication() {
		return nil, nil
	}
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := conn.Run(ctx, "admin", bson.D{{Key: "connectionStatus", Value: 1}, {Key: "showPrivileges", Value: true}})
	if err != nil {
		var refused *configserver.CommandError
		if errors.As(err, &refused) && !configserver.IsNotPrimary(refused.Reply) {
			return refusal(codeUnauthorized, "not authorized on %s to execute command %s: %v", r.database, r.name, err), nil
		}
		return nil, err
	}
	var status connectionStatus
	if err := bson.Unmarshal(raw, &status); err != nil {
		return nil, fmt.Errorf("read connection status: %w", err)
	}
	if len(status.AuthInfo.Users) == 0 {
		return refusal(codeUnauthorized, "command %s requires authentication", r.name), nil
	}
	for _, granted := range status.AuthInfo.Privileges {
		if granted.covers(needed) {
			return nil, nil
		}
	}
	return refusal(codeUnauthorized, "not authorized on %s to execute command %s", r.database, r.name), nil
}
