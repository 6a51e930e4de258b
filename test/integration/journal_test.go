// SPDX-License-Identifier: Apache-2.0

//go:build integration

package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// fault is what happens at one write.
type fault int

// The faults of a write.
const (
	none fault = iota
	// crashBefore: the operator ends before the write is sent.
	crashBefore
	// crashAfter: the operator ends once the write has taken effect.
	crashAfter
	// answerLost: the write takes effect, and the operator is told that it timed out.
	answerLost
)

var (
	errCrashed = errors.New("the operator has ended")
	errLost    = errors.New("the answer was lost")
)

// journal counts every write of the operator, to Kubernetes and to servers alike, and lets faults happen.
type journal struct {
	mu      sync.Mutex
	writes  []string
	at      int
	fault   fault
	crashed bool
	// conflictFirst lets the first try of every write end in a conflict.
	conflictFirst bool
	tried         map[string]bool
}

// failAt lets a fault happen at the k-th write, counted from one.
func (j *journal) failAt(k int, fault fault) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.at, j.fault = k, fault
}

// restart ends the time after a crash: another operator has started.
func (j *journal) restart() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.crashed = false
}

func (j *journal) hasCrashed() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.crashed
}

// count is the number of writes so far.
func (j *journal) count() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.writes)
}

// since are the writes after the first so many.
func (j *journal) since(count int) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.writes[count:])
}

func (j *journal) write(what string, do func() error) error {
	fault, err := j.enter(what)
	if err != nil {
		return err
	}
	err = do()
	switch fault {
	case crashAfter:
		j.mu.Lock()
		j.crashed = true
		j.mu.Unlock()
		return errCrashed
	case answerLost:
		return errLost
	case none, crashBefore:
	}
	return err
}

func (j *journal) enter(what string) (fault, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.crashed {
		return none, errCrashed
	}
	if j.conflictFirst && !j.tried[what] {
		if j.tried == nil {
			j.tried = map[string]bool{}
		}
		j.tried[what] = true
		return none, apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, what, errors.New("somebody else was first"))
	}
	j.writes = append(j.writes, what)
	if len(j.writes) != j.at {
		return none, nil
	}
	if j.fault == crashBefore {
		j.crashed = true
		return none, errCrashed
	}
	return j.fault, nil
}

// over is a client whose writes pass through the journal.
func (j *journal) over(inner client.WithWatch, list listFunc) client.WithWatch {
	return interceptor.NewClient(inner, interceptor.Funcs{
		List: list,
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return j.write("create "+name(c, object), func() error { return c.Create(ctx, object, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			return j.write("delete "+name(c, object), func() error { return c.Delete(ctx, object, options...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.UpdateOption) error {
			return j.write("update "+name(c, object), func() error { return c.Update(ctx, object, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return j.write("patch "+name(c, object), func() error { return c.Patch(ctx, object, patch, options...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			return j.write(fmt.Sprintf("apply %T %s", object, appliedName(object)), func() error { return c.Apply(ctx, object, options...) })
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, sub string, object, body client.Object, options ...client.SubResourceCreateOption) error {
			return j.write(sub+" of "+name(c, object), func() error { return c.SubResource(sub).Create(ctx, object, body, options...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			return j.write("patch "+sub+" of "+name(c, object), func() error { return c.SubResource(sub).Patch(ctx, object, patch, options...) })
		},
	})
}

type listFunc func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error

func name(c client.Client, object client.Object) string {
	kind, err := c.GroupVersionKindFor(object)
	if err != nil {
		return object.GetName()
	}
	return kind.Kind + " " + object.GetName()
}

func appliedName(object runtime.ApplyConfiguration) string {
	named, ok := object.(interface{ GetName() *string })
	if !ok || named.GetName() == nil {
		return metav1.NamespaceNone
	}
	return *named.GetName()
}
