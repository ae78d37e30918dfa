// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"
)

// Operation is the part of an operation that decides what happens next.
type Operation struct {
	ID      string
	State   string
	Message string
}

// longestAnswer is less than what proxies wait for an answer.
const longestAnswer = 30 * time.Second

// ErrNotEnded: the operation goes on, and nobody waits for it any more.
var ErrNotEnded = errors.New("the operation goes on by itself")

// OperationID returns the id of the operation that an answer names, or "".
func (a Answer) OperationID() string {
	location := a.Header.Get("Operation-Location")
	if location == "" {
		return ""
	}
	return path.Base(location)
}

// Await waits until an operation has ended, whichever way. It wraps ErrNotEnded when the time is up or Terraform is interrupted.
func (c *Client) Await(ctx context.Context, id string) (Operation, error) {
	end := time.Now().Add(c.OperationTimeout)
	request := Request{Method: "GET", Path: c.Path("operations", id)}
	for {
		wait := min(longestAnswer, max(time.Second, time.Until(end)))
		request.Header = map[string]string{"Prefer": fmt.Sprintf("wait=%d", int(wait.Seconds()))}
		answer, err := c.Do(ctx, request)
		if ctx.Err() != nil {
			return Operation{}, fmt.Errorf("%w: operation %s was begun, and Terraform was interrupted", ErrNotEnded, id)
		}
		if err != nil {
			return Operation{}, err
		}
		operation := operationOf(answer.Body)
		if operation.State != "queued" && operation.State != "running" {
			return operation, nil
		}
		if time.Now().After(end) {
			return operation, fmt.Errorf("%w: operation %s has not ended after %s. %s", ErrNotEnded, id, c.OperationTimeout, operation.Message)
		}
		if answer.Header.Get("Preference-Applied") == "" {
			_ = Sleep(ctx, max(retryAfter(answer.Header), time.Second))
		}
	}
}

// operationOf takes the words from what failed, or from what it waits for.
func operationOf(body any) Operation {
	members, _ := body.(map[string]any)
	text := func(parent any, name string) string {
		object, _ := parent.(map[string]any)
		value, _ := object[name].(string)
		return value
	}
	operation := Operation{ID: text(body, "id"), State: text(body, "state")}
	if failure := text(members["error"], "message"); failure != "" {
		operation.Message = failure
		if hint := text(members["error"], "hint"); hint != "" {
			operation.Message += " " + hint
		}
	} else {
		operation.Message = text(members["waiting"], "message")
	}
	return operation
}
