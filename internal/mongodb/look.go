// SPDX-License-Identifier: Apache-2.0

package mongodb

import (
	"context"
	"errors"
	"sync"

	"github.com/mongotuning/mongotuning/internal/serverstatus"
)

// Answer is what one command returned. Exactly one of Value and Err is nil: what was not answered has a reason and
// no value.
type Answer[T any] struct {
	// Value is the answer, nil when there is none.
	Value *T
	// Err says why there is no answer; it names the command and can be tested with errors.Is.
	Err error
}

// ProcessAnswers are the answers that a mongod and a mongos give alike.
type ProcessAnswers struct {
	Hello        Answer[Hello]
	BuildInfo    Answer[BuildInfo]
	CommandLine  Answer[CommandLine]
	Parameters   Answer[Parameters]
	ServerStatus Answer[serverstatus.Status]
}

// Answers are one look at a member.
type Answers struct {
	ProcessAnswers
	ReplicaSetStatus Answer[ReplicaSetStatus]
	ReplicaSetConfig Answer[ReplicaSetConfig]
}

// Look asks a member everything at once, within the context's deadline. The parameters are the names of the server
// parameters to read; those that the server does not have are left out of its answer. A member that does not answer
// the first question is not asked the others: its one error stands for all.
func (m *Member) Look(ctx context.Context, parameters ...string) Answers {
	answers := Answers{ProcessAnswers: ProcessAnswers{Hello: answerOf(m.Hello(ctx))}}
	if err := answers.Hello.Err; isFinal(err) {
		answers.refuse(err)
		answers.ReplicaSetStatus.Err, answers.ReplicaSetConfig.Err = err, err
		return answers
	}
	var asked sync.WaitGroup
	m.lookAtProcess(ctx, &asked, &answers.ProcessAnswers, parameters)
	asked.Go(func() { answers.ReplicaSetStatus = answerOf(m.ReplicaSetStatus(ctx)) })
	asked.Go(func() { answers.ReplicaSetConfig = answerOf(m.ReplicaSetConfig(ctx)) })
	asked.Wait()
	return answers
}

// lookAtProcess starts the questions that every process answers, except hello.
func (p process) lookAtProcess(ctx context.Context, asked *sync.WaitGroup, answers *ProcessAnswers, parameters []string) {
	asked.Go(func() { answers.BuildInfo = answerOf(p.BuildInfo(ctx)) })
	asked.Go(func() { answers.CommandLine = answerOf(p.CommandLine(ctx)) })
	asked.Go(func() { answers.Parameters = answerOf(p.Parameters(ctx, parameters...)) })
	asked.Go(func() { answers.ServerStatus = answerOf(p.ServerStatus(ctx)) })
}

// Err joins what was not answered; nil when everything was.
func (a Answers) Err() error {
	if a.Hello.Err != nil && isFinal(a.Hello.Err) {
		return a.Hello.Err
	}
	return errors.Join(a.ProcessAnswers.Err(), a.ReplicaSetStatus.Err, a.ReplicaSetConfig.Err)
}

// Err joins what was not answered; nil when everything was.
func (a ProcessAnswers) Err() error {
	if isFinal(a.Hello.Err) {
		return a.Hello.Err
	}
	return errors.Join(a.Hello.Err, a.BuildInfo.Err, a.CommandLine.Err, a.Parameters.Err, a.ServerStatus.Err)
}

// State is what the member says it is, empty when it did not say.
func (a Answers) State() MemberState {
	if status := a.ReplicaSetStatus.Value; status != nil {
		return status.State
	}
	hello := a.Hello.Value
	switch {
	case hello == nil:
		return ""
	case hello.IsPrimary && hello.ReplicaSet != "":
		return Primary
	case hello.IsSecondary:
		return Secondary
	default:
		return ""
	}
}

// refuse puts one error in the place of all answers but hello's.
func (a *ProcessAnswers) refuse(err error) {
	a.BuildInfo.Err, a.CommandLine.Err, a.Parameters.Err, a.ServerStatus.Err = err, err, err, err
}

func answerOf[T any](value T, err error) Answer[T] {
	if err != nil {
		return Answer[T]{Err: err}
	}
	return Answer[T]{Value: &value}
}

// isFinal tells that further questions would end the same way, and would only cost the server another
// authentication or the caller another deadline.
func isFinal(err error) bool {
	return errors.Is(err, ErrUnreachable) || errors.Is(err, ErrAuthenticationFailed) || errors.Is(err, context.Canceled)
}
