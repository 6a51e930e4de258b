// SPDX-License-Identifier: Apache-2.0

package router

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/mongotuning/mongotuning/test/mongosstandin/configserver"
	"github.com/mongotuning/mongotuning/test/mongosstandin/options"
)

// drainTimeout bounds how long commands under way may take to end when the process is told to. A Kubernetes grace
// period is 30 s unless set; this stays well below.
const drainTimeout = 5 * time.Second

// Server is one stand-in for a mongos.
type Server struct {
	options    *options.Options
	set        *configserver.Set
	log        *slog.Logger
	started    time.Time
	version    string
	numbers    []int32
	parameters *options.Parameters

	sessions     sync.WaitGroup
	mutex        sync.Mutex
	open         map[*session]bool
	totalCreated int32
}

// New makes a server in front of a config server replica set whose primary introduced itself as primary does. It
// speaks for the version of that primary.
func New(o *options.Options, set *configserver.Set, primary *configserver.Primary, log *slog.Logger) (*Server, error) {
	if err := o.CheckVersion(primary.Version); err != nil {
		return nil, err
	}
	parameters, err := options.NewParameters(primary.Version, o.SetParameter)
	if err != nil {
		return nil, err
	}
	return &Server{
		options: o, set: set, log: log, started: time.Now(),
		version: primary.VersionTag, numbers: primary.Version,
		parameters: parameters, open: map[*session]bool{},
	}, nil
}

// Serve accepts clients on the listeners until ctx ends, then lets the commands under way finish.
func (s *Server) Serve(ctx context.Context, listeners []net.Listener) error {
	// Commands outlive the order to stop: they end by themselves or at the end of the drain.
	work, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	failures := make(chan error, len(listeners))
	for _, listener := range listeners {
		go func() { failures <- s.accept(work, listener) }()
	}
	go s.followPrimary(work)
	var failure error
	select {
	case <-ctx.Done():
	case failure = <-failures:
	}
	for _, listener := range listeners {
		_ = listener.Close()
	}
	s.drain(abandon)
	if failure != nil && !errors.Is(failure, net.ErrClosed) {
		return fmt.Errorf("accept client: %w", failure)
	}
	return nil
}

func (s *Server) accept(ctx context.Context, listener net.Listener) error {
	for {
		client, err := listener.Accept()
		if err != nil {
			return err
		}
		c := &session{server: s, client: client}
		s.mutex.Lock()
		s.open[c] = true
		s.totalCreated++
		s.mutex.Unlock()
		s.sessions.Go(func() {
			c.serve(ctx)
			s.mutex.Lock()
			delete(s.open, c)
			s.mutex.Unlock()
		})
	}
}

// followPrimary closes the clients of a primary that is none any more. Drivers dial again and are given the next one.
func (s *Server) followPrimary(ctx context.Context) {
	for {
		primary, changed := s.set.Current()
		if primary != nil {
			s.closeWhere(func(address string) bool { return address != "" && address != primary.Address })
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Server) closeWhere(isStale func(upstream string) bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for c := range s.open {
		if isStale(c.upstreamAddress()) {
			c.close()
		}
	}
}

// drain ends the sessions: idle ones now, the others after the reply they owe, all of them at the timeout.
func (s *Server) drain(abandon func()) {
	s.mutex.Lock()
	for c := range s.open {
		_ = c.client.SetReadDeadline(time.Unix(1, 0))
	}
	s.mutex.Unlock()
	drained := make(chan struct{})
	go func() {
		s.sessions.Wait()
		close(drained)
	}()
	deadline := time.NewTimer(drainTimeout)
	defer deadline.Stop()
	select {
	case <-drained:
	case <-deadline.C:
		abandon()
		s.closeWhere(func(string) bool { return true })
	}
}

// connections returns how many clients there are and how many there have been.
func (s *Server) connections() (current, totalCreated int32) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return int32(len(s.open)), s.totalCreated
}
