// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"

	"github.com/mongotuning/mongotuning/internal/catalog"
	"github.com/mongotuning/mongotuning/internal/mongodb"
)

// Set brings changed values into force on a running mongod.
func (d *DriverDatabases) Set(ctx context.Context, server Server, as secrets, changes catalog.Changes) error {
	member, err := d.member(ctx, server, as)
	if err != nil {
		return err
	}
	if changes.WiredTigerString != "" {
		if err := setWiredTiger(ctx, member, changes.WiredTigerString); err != nil {
			return err
		}
	}
	for _, parameter := range changes.Parameters {
		if err := member.SetParameter(ctx, parameter.Name, parameter.Value); err != nil {
			return err
		}
	}
	if slow := changes.SlowOperations; slow != nil {
		profiling := mongodb.Profiling{SlowMillis: slow.ThresholdMilliseconds, SampleRate: slow.SampleRate}
		if err := member.SetProfiling(ctx, profiling); err != nil {
			return err
		}
	}
	if oplog := changes.Oplog; oplog != nil {
		size := mongodb.OplogSize{Megabytes: oplog.SizeMB, MinRetentionHours: oplog.MinRetentionHours}
		if err := member.ResizeOplog(ctx, size); err != nil {
			return err
		}
	}
	return nil
}

// setWiredTiger sends the full string. A string that WiredTiger refuses may be in force by half, and the
// next good one puts that right; so the one that was in force before is sent again.
func setWiredTiger(ctx context.Context, member *mongodb.Member, wanted string) error {
	before, err := wiredTigerBefore(ctx, member)
	if err != nil {
		return fmt.Errorf("read the storage engine's settings before they are changed: %w", err)
	}
	err = member.SetWiredTigerRuntimeConfig(ctx, wanted)
	if !errors.Is(err, mongodb.ErrBadValue) || before == "" {
		return err
	}
	if repair := member.SetWiredTigerRuntimeConfig(ctx, before); repair != nil {
		return errors.Join(err, fmt.Errorf("put back the settings of before: %w", repair))
	}
	return err
}

func wiredTigerBefore(ctx context.Context, member *mongodb.Member) (string, error) {
	parameters, err := member.Parameters(ctx, catalog.RuntimeConfigParameter)
	if err != nil {
		return "", err
	}
	line, err := member.CommandLine(ctx)
	if err != nil {
		return "", err
	}
	return catalog.FullStringInForce(catalog.Process{Parameters: parameters, CommandLine: line.Parsed}), nil
}
