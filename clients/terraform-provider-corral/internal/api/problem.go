// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Problem is a refusal of the API (RFC 9457).
type Problem struct {
	Status   int       `json:"status"`
	Title    string    `json:"title"`
	Detail   string    `json:"detail"`
	Code     string    `json:"code"`
	Instance string    `json:"instance"`
	Errors   []Refusal `json:"errors"`
}

// Refusal is one reason, with a JSON pointer to the field that it is about.
type Refusal struct {
	Pointer string `json:"pointer"`
	Code    string `json:"code"`
	Detail  string `json:"detail"`
}

func (p *Problem) Error() string {
	return fmt.Sprintf("%s (%s, %s)", p.Detail, p.Code, p.Instance)
}

func problemOf(status int, body []byte) *Problem {
	problem := &Problem{}
	if err := json.Unmarshal(body, problem); err != nil || problem.Detail == "" {
		*problem = Problem{Title: http.StatusText(status), Code: "unknown", Detail: "The service answered " + http.StatusText(status) + " without a reason."}
	}
	problem.Status = status
	return problem
}

// AsProblem returns the refusal in an error, or nil.
func AsProblem(err error) *Problem {
	var problem *Problem
	if errors.As(err, &problem) {
		return problem
	}
	return nil
}

// HasStatus says whether the API refused with this status.
func HasStatus(err error, status int) bool {
	problem := AsProblem(err)
	return problem != nil && problem.Status == status
}
