// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"

	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/hosttune"
)

// startHostJob starts a Job that is bound to a node, if Kubernetes would let its pod be made: a Job whose
// pods are refused says nothing to anybody.
func (r *MongoTuningReconciler) startHostJob(ctx context.Context, cluster desired.Cluster, job *batchv1ac.JobApplyConfiguration) error {
	described, err := typed[batchv1.Job](job)
	if err != nil {
		return err
	}
	pod := &corev1.Pod{ObjectMeta: described.Spec.Template.ObjectMeta, Spec: described.Spec.Template.Spec}
	pod.Name, pod.Namespace = described.Name+preflightSuffix, described.Namespace
	if err := r.preflight(ctx, pod); err != nil {
		return err
	}
	return r.apply(ctx, cluster.Tuning, job)
}

// typed is the object that an apply configuration describes.
func typed[T any](applied any) (*T, error) {
	encoded, err := json.Marshal(applied)
	if err != nil {
		return nil, fmt.Errorf("encode object to apply: %w", err)
	}
	object := new(T)
	if err := json.Unmarshal(encoded, object); err != nil {
		return nil, fmt.Errorf("read object to apply: %w", err)
	}
	return object, nil
}

// HTTPHostReaders asks readers over the pod network.
type HTTPHostReaders struct {
	// Client carries the requests; its limits are those of a look.
	Client *http.Client
}

// longestReading bounds what is taken from a reader.
const longestReading = 1 << 20

// Read asks the reader at an IP address.
func (h *HTTPHostReaders) Read(ctx context.Context, address string) (hosttune.Reading, error) {
	var reading hosttune.Reading
	url := "http://" + net.JoinHostPort(address, strconv.Itoa(hosttune.ReaderPort)) + hosttune.ReadingPath
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return reading, fmt.Errorf("ask reader: %w", err)
	}
	response, err := h.Client.Do(request)
	if err != nil {
		return reading, fmt.Errorf("ask reader: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return reading, fmt.Errorf("ask reader: it answers %s", response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, longestReading)).Decode(&reading); err != nil {
		return reading, fmt.Errorf("read answer of reader: %w", err)
	}
	return reading, nil
}
