// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"

	"github.com/mongotuning/mongotuning/internal/desired"
	"github.com/mongotuning/mongotuning/internal/member"
	"github.com/mongotuning/mongotuning/internal/observed"
)

// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get

const (
	// exitLogLines of the ended container are read; the cause of a refused start is among the last.
	exitLogLines = 200
	// exitLogBytes bounds what is read of them.
	exitLogBytes = 1 << 20
)

// ExitLogs reads why a server ended from the log of the container that ran it.
type ExitLogs struct {
	// Pods gives access to the logs of pods.
	Pods corev1client.PodsGetter

	mu    sync.Mutex
	lines map[string]string
}

// explain puts the telling line of its log beside the exit of a server that is down. Each exit is read
// once. A log that is gone explains nothing, and that is all.
func (e *ExitLogs) explain(ctx context.Context, namespace string, seen *observed.Member, as secrets) {
	exit := seen.Pod.Exited
	if e == nil || exit == nil || seen.Look.State != observed.StateUnknown {
		return
	}
	key := fmt.Sprintf("%s/%d", seen.Pod.UID, exit.Restarts)
	e.mu.Lock()
	line, known := e.lines[key]
	e.mu.Unlock()
	if !known {
		log, err := e.read(ctx, types.NamespacedName{Namespace: namespace, Name: seen.Name})
		if err != nil {
			return // asked again at the next look
		}
		// Before it is cut: what is left of half a secret could not be told from other text.
		line = member.Shorten(as.blot(member.Refusal(log)))
		e.remember(key, line)
	}
	exit.Line = line
}

// rememberedExits bounds the memory for exits; when it is full it is emptied, which costs a few reads.
const rememberedExits = 1000

func (e *ExitLogs) remember(key, line string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lines == nil || len(e.lines) >= rememberedExits {
		e.lines = map[string]string{}
	}
	e.lines[key] = line
}

func (e *ExitLogs) read(ctx context.Context, pod types.NamespacedName) (string, error) {
	stream, err := e.Pods.Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: desired.ContainerMember, Previous: true,
		TailLines: ptr.To[int64](exitLogLines), LimitBytes: ptr.To[int64](exitLogBytes),
	}).Stream(ctx)
	if err != nil {
		return "", fmt.Errorf("read log of %s: %w", pod, err)
	}
	defer func() { _ = stream.Close() }()
	log, err := io.ReadAll(stream)
	if err != nil {
		return "", fmt.Errorf("read log of %s: %w", pod, err)
	}
	return string(log), nil
}

// blot replaces every secret in a text. Servers do not print them, and this does not depend on it. A key
// file may have been made by somebody with line breaks, and a log has it line by line.
func (s secrets) blot(text string) string {
	for _, secret := range append(strings.Fields(string(s.keyFile)), s.operator.password, s.app.password) {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[secret]")
		}
	}
	return text
}
