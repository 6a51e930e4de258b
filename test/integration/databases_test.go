// SPDX-License-Identifier: Apache-2.0

//go:build integration

package integration

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mongotuning/mongotuning/controllers"
	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/mongodb"
	"github.com/mongotuning/mongotuning/internal/naming"
	"github.com/mongotuning/mongotuning/internal/observed"
	"github.com/mongotuning/mongotuning/test/scripted"
)

// databases lets the reconciler speak to scripted servers. Its acts pass through the journal like every
// write to Kubernetes.
type databases struct {
	servers *scripted.Servers
	journal *journal
	tuning  string
	// frozen are answers that a server keeps giving, by the UID of its pod.
	frozen map[string]observed.Look
	// remember takes the answers of one look, when set.
	mu       sync.Mutex
	remember map[string]observed.Look
}

var _ controllers.Databases = &databases{}

func (d *databases) Look(_ context.Context, server controllers.Server, as controllers.Credentials) observed.Look {
	if look, known := d.frozen[server.PodUID]; known {
		return look
	}
	look := d.servers.Look(server.PodUID, as.OperatorPassword())
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.remember != nil {
		d.remember[server.PodUID] = look
	}
	return look
}

func (d *databases) LookAtMongos(_ context.Context, server controllers.Server, as controllers.Credentials) ([]string, error) {
	return d.servers.LookAtMongos(server.PodUID, naming.ConfigServers(d.tuning), as.OperatorPassword())
}

func (d *databases) KnowsApp(_ context.Context, _ controllers.Server, as controllers.Credentials) (bool, error) {
	return d.servers.KnowsApp(naming.ConfigServers(d.tuning), as.AppPassword()), nil
}

func (d *databases) Initiate(_ context.Context, server controllers.Server, _ controllers.Credentials, set controllers.InitiateRequest) error {
	return d.journal.write("initiate "+set.Name, func() error { return d.servers.Initiate(server.PodUID, set.Hosts) })
}

func (d *databases) CreateOperator(_ context.Context, server controllers.Server, as controllers.Credentials) error {
	return d.journal.write("create operator", func() error { return d.servers.CreateOperator(server.PodUID, as.OperatorPassword()) })
}

func (d *databases) CreateApp(_ context.Context, server controllers.Server, as controllers.Credentials) error {
	return d.journal.write("create app", func() error { return d.servers.CreateApp(server.PodUID, as.AppPassword()) })
}

func (d *databases) AddShard(_ context.Context, mongos controllers.Server, _ controllers.Credentials, replicaSet string, _ []string) error {
	return d.journal.write("add shard "+replicaSet, func() error { return d.servers.AddShard(mongos.PodUID, replicaSet) })
}

func (d *databases) Set(_ context.Context, server controllers.Server, _ controllers.Credentials, changes catalog.Changes) error {
	return d.journal.write("set", func() error { return d.servers.Set(server.PodUID, changes) })
}

func (d *databases) StepDown(_ context.Context, server controllers.Server, _ controllers.Credentials, _ time.Duration) error {
	return d.journal.write("step down", func() error {
		if err := d.servers.StepDown(server.PodUID); errors.Is(err, scripted.ErrNotCaughtUp) {
			return fmt.Errorf("%w: %w", mongodb.ErrExceededTimeLimit, err)
		} else if err != nil {
			return err
		}
		return nil
	})
}

func (d *databases) Forget(context.Context, string, map[string]bool) {}
