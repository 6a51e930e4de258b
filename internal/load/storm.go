// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Storm is what became of many connections that were opened at the same moment, as when all applications of a
// cluster start again at once. Each round opens all of them anew.
type Storm struct {
	// Connections that were asked for in each round, over all targets.
	Connections int `json:"connections"`
	// Rounds in the order in which they came.
	Rounds []StormRound `json:"rounds"`
}

// StormRound is one opening of all connections.
type StormRound struct {
	// Opened is how many connections were opened, authenticated and used.
	Opened int64 `json:"opened"`
	// Failed is how many attempts to open one failed.
	Failed int64 `json:"failed"`
	// Example is the first reason of a failure.
	Example string `json:"example,omitempty"`
	// AllOpenSeconds is the time until the last of them was open.
	AllOpenSeconds float64 `json:"allOpenSeconds"`
	// Connect is how long opening one took: network, greeting and authentication.
	Connect Latency `json:"connect"`
	// First is how long the first operation of each thread took, the wait for its connection included.
	First Latency `json:"first"`
	// FirstFailed is how many threads got an error for an answer.
	FirstFailed int64 `json:"firstFailed"`
	// PerSecond are the operations per second with all connections in use.
	PerSecond float64 `json:"perSecond"`
}

// roundsLimit bounds a storm.
const roundsLimit = 1000

// Storm opens so many connections at once, has a thread on each read documents for the stage's duration, closes
// them all, and begins again for every further round. The stage's threads are the connections.
func (l *Load) Storm(ctx context.Context, stage Stage, rounds int) (Storm, error) {
	if err := errors.Join(stage.check(), within("rounds", int64(rounds), 1, roundsLimit)); err != nil {
		return Storm{}, err
	}
	storm := Storm{Connections: stage.Threads}
	for len(storm.Rounds) < rounds && (ctx.Err() == nil || len(storm.Rounds) == 0) {
		round, err := l.stormRound(ctx, stage)
		if err != nil {
			return storm, err
		}
		storm.Rounds = append(storm.Rounds, round)
	}
	return storm, nil
}

// stormWatch notes what becomes of connections.
type stormWatch struct {
	now     func() time.Time
	started time.Time

	mu             sync.Mutex
	opened, failed int64
	lastOpened     time.Time
	example        string
	connects       *hdrhistogram.Histogram
}

func (s *stormWatch) note(e *event.PoolEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Type {
	case event.ConnectionReady:
		s.opened++
		s.lastOpened = s.now()
		measure(s.connects, e.Duration, 1)
	case event.ConnectionClosed:
		if e.Error != nil {
			s.failed++
			if s.example == "" {
				s.example = e.Error.Error()
			}
		}
	}
}

// stormClient is a server under the storm.
type stormClient struct {
	client *mongo.Client
	// target is its place among the targets.
	target int
	// connections is its part of all.
	connections int
}

func (l *Load) stormRound(ctx context.Context, stage Stage) (StormRound, error) {
	watch := &stormWatch{now: l.options.Now, connects: newHistogram()}
	clients, err := l.stormClients(ctx, stage.Threads, watch)
	if err != nil {
		return StormRound{}, err
	}
	watch.started = l.options.Now()
	first, others := newHistogram(), newRecorder(stage.Threads)
	firstFailed, thread := int64(0), 0
	var firsts sync.Mutex
	var threads sync.WaitGroup
	for _, c := range clients {
		documents := c.client.Database(l.options.Database).Collection(documentsCollection)
		for range c.connections {
			w, at := l.worker(thread), thread
			thread++
			threads.Go(func() {
				began := l.options.Now()
				err := w.readThrough(ctx, documents, c.target)
				took := l.options.Now().Sub(began)
				firsts.Lock()
				measure(first, took, 1)
				if err != nil {
					firstFailed++
				}
				firsts.Unlock()
				l.keepReading(ctx, stage, stormReader{worker: w, documents: documents, target: c.target, thread: at, until: watch.started.Add(stage.Duration)}, others)
			})
		}
	}
	threads.Wait()
	elapsed := l.options.Now().Sub(watch.started)
	closing := closeAll(ctx, clients)
	watch.mu.Lock()
	defer watch.mu.Unlock()
	round := StormRound{
		Opened: watch.opened, Failed: watch.failed, Example: watch.example,
		Connect: latencyOf(watch.connects), First: latencyOf(first), FirstFailed: firstFailed,
		PerSecond: resultOf(others.sum(), stage, elapsed).Total.PerSecond,
	}
	if watch.opened > 0 {
		round.AllOpenSeconds = watch.lastOpened.Sub(watch.started).Seconds()
	}
	return round, closing
}

type stormReader struct {
	worker    *worker
	documents *mongo.Collection
	target    int
	thread    int
	until     time.Time
}

// keepReading uses a connection until the round is over.
func (l *Load) keepReading(ctx context.Context, stage Stage, r stormReader, into *recorder) {
	for count := int64(0); ctx.Err() == nil && count < stage.Operations; count++ {
		began := l.options.Now()
		if !began.Before(r.until) {
			return
		}
		err := r.worker.readThrough(ctx, r.documents, r.target)
		into.record(r.thread, outcome{operation: FindFirst, latency: l.options.Now().Sub(began), documents: 1, err: err})
		if err != nil {
			waitUntil(ctx, afterFailure)
		}
	}
}

// readThrough reads a document that is on the target.
func (w *worker) readThrough(ctx context.Context, documents *mongo.Collection, target int) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.load.options.Timeout)
	defer cancel()
	id := w.load.chooser.choose(w.random)
	for tries := 0; route(id, len(w.load.targets)) != target && tries < 1000; tries++ {
		id = w.load.chooser.choose(w.random)
	}
	_, err := documents.FindOne(ctx, bson.D{{Key: idField, Value: id}}).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil
	}
	return err
}

// stormClients prepares the clients, and gives each server its part of the connections.
func (l *Load) stormClients(ctx context.Context, connections int, watch *stormWatch) ([]stormClient, error) {
	type server struct {
		target int
		host   string
	}
	var servers []server
	for at, t := range l.targets {
		settings, err := l.options.Targets[at].settings()
		if err != nil {
			return nil, err
		}
		hosts, err := t.leaders(ctx, settings)
		if err != nil {
			return nil, err
		}
		for _, host := range hosts {
			servers = append(servers, server{at, host})
		}
	}
	if connections < len(servers) {
		return nil, fmt.Errorf("a storm of %d connections for %d servers: it has to be one for each at least", connections, len(servers))
	}
	var clients []stormClient
	for i, s := range servers {
		part := connections / len(servers)
		if i < connections%len(servers) {
			part++
		}
		client, err := l.options.connectionsOf(l.options.Targets[s.target], s.host, uint64(part), &event.PoolMonitor{Event: watch.note}) //nolint:gosec // a positive number
		if err != nil {
			return nil, errors.Join(err, closeAll(ctx, clients))
		}
		clients = append(clients, stormClient{client: client, target: s.target, connections: part})
	}
	return clients, nil
}

func closeAll(ctx context.Context, clients []stormClient) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), disconnectTimeout)
	defer cancel()
	failed := make([]error, 0, len(clients))
	for _, c := range clients {
		failed = append(failed, c.client.Disconnect(ctx))
	}
	return errors.Join(failed...)
}
