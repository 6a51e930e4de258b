// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

func TestAFailedOrKilledFillLeavesNothing(t *testing.T) {
	target := filepath.Join(t.TempDir(), "entry")
	broken := errors.New("broken")
	err := fillOnce(t.Context(), target, func(temporary string) error {
		if err := os.WriteFile(temporary, []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Fatalf("error is %v", err)
	}
	if exists(target) || exists(target+".partial") {
		t.Fatal("a failed fill left a file")
	}

	if err := os.WriteFile(target+".partial", []byte("of a killed run, longer"), 0o644); err != nil {
		t.Fatal(err)
	}
	err = fillOnce(t.Context(), target, func(temporary string) error {
		if exists(temporary) {
			t.Error("the fill sees what a killed run left")
		}
		return os.WriteFile(temporary, []byte("whole"), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(target); err != nil || string(content) != "whole" {
		t.Fatalf("content is %q, error %v", content, err)
	}
}

func TestOfSeveralRunsAtOnceOneFills(t *testing.T) {
	target := filepath.Join(t.TempDir(), "entry")
	var fills atomic.Int32
	var runs sync.WaitGroup
	for range 8 {
		runs.Go(func() {
			err := fillOnce(t.Context(), target, func(temporary string) error {
				fills.Add(1)
				return os.WriteFile(temporary, nil, 0o644)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	runs.Wait()
	if fills.Load() != 1 {
		t.Fatalf("filled %d times", fills.Load())
	}
}

func TestAnInterruptEndsTheWaitForAnotherRun(t *testing.T) {
	target := filepath.Join(t.TempDir(), "entry")
	unlock, err := lock(t.Context(), target+".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	err = fillOnce(interrupted, target, func(string) error { t.Error("filled without the lock"); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error is %v", err)
	}
}

func TestTheCacheIsWhereTheUserSays(t *testing.T) {
	t.Setenv("HOME", "/home/somebody")
	for _, row := range []struct{ name, variable, xdg, want string }{
		{name: "our own variable goes first", variable: "/own", xdg: "/xdg", want: "/own"},
		{name: "then the user's cache directory", xdg: "/xdg", want: "/xdg/mongotuning"},
		{name: "then the usual place", want: "/home/somebody/.cache/mongotuning"},
		{name: "a relative path is refused", variable: "cache"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Setenv("MONGOTUNING_CACHE", row.variable)
			t.Setenv("XDG_CACHE_HOME", row.xdg)
			found, err := cacheDir()
			if found != row.want || (err != nil) != (row.want == "") {
				t.Fatalf("cache is %q, error %v, want %q", found, err, row.want)
			}
		})
	}
}
