// SPDX-License-Identifier: Apache-2.0

//go:build mongod

package mongodb_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/mongotuning/mongotuning/internal/mongodb"
	"github.com/mongotuning/mongotuning/test/servers"
)

const (
	stayAway = 20 * time.Second
	catchUp  = 2 * time.Second
)

// The lead is handed over only to a secondary that is caught up; without one the primary stays.
func TestStepDown(t *testing.T) {
	servers.ForEachVersion(t, func(t *testing.T, version string) {
		set := servers.StartReplicaSet(t, withKey(version), 3)
		primary, secondaries := set.Primary(), set.Secondaries()
		bootstrap(t, primary.Member())
		member := primary.MemberAs(credentialsOf(operator()))
		must(t, member.Look(bounded(t)).Err())

		// The secondaries have to be behind by something before nobody is caught up. Locked ones still answer
		// heartbeats, so the primary keeps its lead.
		for _, secondary := range secondaries {
			lock(t, secondary)
		}
		if err := primary.Member().CreateOrUpdateUser(bounded(t), application()); !errors.Is(err, mongodb.ErrNotReplicated) {
			t.Errorf("a write that no secondary has: %v", err)
		}
		if err := member.StepDown(bounded(t), stayAway, catchUp); !errors.Is(err, mongodb.ErrExceededTimeLimit) {
			t.Errorf("step down without a caught-up secondary: %v", err)
		}
		if set.Primary() != primary {
			t.Error("the primary lost its lead to a refused step down")
		}
		for _, secondary := range secondaries {
			runAsMember(t, secondary, bson.D{{Key: "fsyncUnlock", Value: 1}})
		}
		set.AwaitWhole()

		leader := set.Primary()
		for _, secondary := range set.Secondaries() {
			err := secondary.MemberAs(credentialsOf(operator())).StepDown(bounded(t), stayAway, catchUp)
			if !errors.Is(err, mongodb.ErrNotPrimary) {
				t.Errorf("step down of a secondary: %v", err)
			}
		}
		stepDown(t, leader)
		var others []*mongodb.Member
		for _, server := range set.Servers {
			if server != leader {
				others = append(others, server.Member())
			}
		}
		servers.Await(t, "another primary", func(ctx context.Context) error {
			for _, other := range others {
				if hello, err := other.Hello(ctx); err == nil && hello.IsPrimary {
					return nil
				}
			}
			return errors.New("no other member leads")
		})
	})
}

// lock keeps a secondary from applying anything. One that has just copied all data refuses for a moment, since it
// cannot take a checkpoint yet.
func lock(t *testing.T, secondary *servers.Server) {
	t.Helper()
	client := rawClient(t, secondary, secondary.Credentials())
	servers.Await(t, "a lock", func(ctx context.Context) error {
		return client.Database("admin").RunCommand(ctx, bson.D{{Key: "fsync", Value: 1}, {Key: "lock", Value: true}}).Err()
	})
}

// stepDown asks until a secondary is caught up, as the operator does.
func stepDown(t *testing.T, leader *servers.Server) {
	t.Helper()
	member := leader.MemberAs(credentialsOf(operator()))
	servers.Await(t, "a step down", func(ctx context.Context) error {
		err := member.StepDown(ctx, stayAway, catchUp)
		if errors.Is(err, mongodb.ErrMaybeDone) || errors.Is(err, mongodb.ErrNotPrimary) {
			return nil
		}
		return err
	})
}

// An act whose answer is lost after it was sent is not the same as one that never went out.
func TestLostAnswer(t *testing.T) {
	servers.ForEachVersion(t, func(t *testing.T, version string) {
		server := servers.Start(t, withKey(version))
		member := server.Member()
		must(t, member.Look(bounded(t)).Hello.Err)
		server.Freeze()
		err := member.SetParameter(within(t, time.Second), "ttlMonitorSleepSecs", 30)
		if !errors.Is(err, mongodb.ErrUnreachable) || !errors.Is(err, mongodb.ErrMaybeDone) {
			t.Errorf("frozen after it was connected: %v", err)
		}
		server.Thaw()
		server.Stop()
		err = member.SetParameter(within(t, time.Second), "ttlMonitorSleepSecs", 30)
		if !errors.Is(err, mongodb.ErrUnreachable) {
			t.Errorf("stopped: %v", err)
		}
		err = member.SetParameter(within(t, time.Second), "ttlMonitorSleepSecs", 30)
		if !errors.Is(err, mongodb.ErrUnreachable) || errors.Is(err, mongodb.ErrMaybeDone) {
			t.Errorf("known to be away: %v", err)
		}
	})
}
