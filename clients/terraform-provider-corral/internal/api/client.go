// SPDX-License-Identifier: Apache-2.0

// Package api calls the cluster API: it repeats what may be repeated, and waits for operations.
package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"
)

const (
	requestTimeout = 90 * time.Second
	// patience is how long a service may be away, for example while it is upgraded.
	patience = 5 * time.Minute
	// doubt is how long: where nobody has answered yet, the address may be wrong.
	doubt       = 30 * time.Second
	firstPause  = 250 * time.Millisecond
	longestWait = 15 * time.Second
	bytesMax    = 16 << 20
)

// Options say where the service is and who calls it.
type Options struct {
	Endpoint  string
	Team      string
	Token     string
	Session   string
	UserAgent string
	// OperationTimeout is how long to wait for one operation.
	OperationTimeout time.Duration
}

// Client calls the cluster API for one team.
type Client struct {
	Options
	http *http.Client
	// hasAnswered: the service is there.
	hasAnswered atomic.Bool
}

// NewClient checks the address, to which a credential is sent.
func NewClient(options Options) (*Client, error) {
	address, err := url.Parse(options.Endpoint)
	if err != nil || address.Host == "" || address.RawQuery != "" || address.User != nil {
		return nil, errors.New("it looks like https://clusters.example.org")
	}
	host := address.Hostname()
	isLocal := host == "localhost" || host == "127.0.0.1" || host == "::1" || strings.HasSuffix(host, ".localhost")
	if address.Scheme != "https" && !(address.Scheme == "http" && isLocal) {
		return nil, errors.New("it must begin with https://: anybody on the way could read the token")
	}
	options.Endpoint = strings.TrimRight(options.Endpoint, "/")
	// A redirect would take the credential elsewhere.
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{Options: options, http: &http.Client{Timeout: requestTimeout, CheckRedirect: refuse}}, nil
}

// Request is one request to the API.
type Request struct {
	Method string
	Path   string
	Body   any
	Header map[string]string
	// Once: not to be repeated when it may have had an effect.
	Once bool
}

// Answer is a success.
type Answer struct {
	Status int
	Header http.Header
	Body   any
	// Unsure: an earlier attempt was not answered, so it may have had the effect.
	Unsure bool
}

// Path returns the path of something in the team.
func (c *Client) Path(parts ...string) string {
	return joined("/api/v1/teams/"+url.PathEscape(c.Team), parts)
}

// PeoplePath returns the path of people in the team.
func (c *Client) PeoplePath(parts ...string) string {
	return joined("/a/"+url.PathEscape(c.Team)+"/team/api", parts)
}

func joined(path string, parts []string) string {
	for _, part := range parts {
		path += "/" + url.PathEscape(part)
	}
	return path + "/"
}

// Do sends a request until there is an answer. A refusal is a *Problem; the answer then only has Unsure.
func (c *Client) Do(ctx context.Context, request Request) (Answer, error) {
	begun := time.Now()
	unsure := false
	for attempt := 0; ; attempt++ {
		answer, err := c.attempt(ctx, request)
		answer.Unsure = unsure
		problem := AsProblem(err)
		if err == nil || ctx.Err() != nil || (problem != nil && !isPassing(problem.Status)) {
			return answer, err
		}
		isCertain := problem != nil && problem.Status == http.StatusTooManyRequests
		if !isCertain {
			if request.Once {
				return answer, err
			}
			unsure = true
		}
		pause := pauseBefore(attempt, answer.Header)
		limit := doubt
		if c.hasAnswered.Load() {
			limit = patience
		}
		if time.Since(begun)+pause > limit {
			return answer, err
		}
		tflog.Debug(ctx, "Corral is asked again", map[string]any{"path": request.Path, "error": err.Error()})
		if err := Sleep(ctx, pause); err != nil {
			return answer, err
		}
	}
}

func isPassing(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// pauseBefore is what the service asked for, or grows; many resources do not come back at the same moment.
func pauseBefore(attempt int, header http.Header) time.Duration {
	if asked := retryAfter(header); asked > 0 {
		return asked
	}
	pause := min(firstPause<<min(attempt, 10), longestWait)
	return pause/2 + rand.N(pause/2)
}

func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// Sleep returns early, with an error, when Terraform is interrupted.
func Sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}

func (c *Client) attempt(ctx context.Context, request Request) (Answer, error) {
	sent, err := c.httpRequest(ctx, request)
	if err != nil {
		return Answer{}, err
	}
	got, err := c.http.Do(sent)
	if err != nil {
		return Answer{}, fmt.Errorf("%s does not answer: %w", c.Endpoint, errors.Unwrap(err))
	}
	defer got.Body.Close()
	body, err := io.ReadAll(io.LimitReader(got.Body, bytesMax))
	answer := Answer{Status: got.StatusCode, Header: got.Header}
	c.hasAnswered.Store(true)
	tflog.Debug(ctx, "Corral answered", map[string]any{"method": request.Method, "path": request.Path, "status": got.StatusCode})
	if err != nil {
		return answer, fmt.Errorf("the answer of %s was cut off: %w", c.Endpoint, err)
	}
	if got.StatusCode >= 300 {
		return answer, problemOf(got.StatusCode, body)
	}
	if len(body) == 0 {
		return answer, nil
	}
	if answer.Body, err = Decode(body); err != nil {
		return answer, fmt.Errorf("%s answered what is no JSON. Is it the address of the cluster API?", c.Endpoint)
	}
	return answer, nil
}

// Decode reads a body. Numbers stay as they are written.
func Decode(text []byte) (any, error) {
	var body any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(&body)
	return body, err
}

func (c *Client) httpRequest(ctx context.Context, request Request) (*http.Request, error) {
	var body io.Reader
	if request.Body != nil {
		text, err := json.Marshal(request.Body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	sent, err := http.NewRequestWithContext(ctx, request.Method, c.Endpoint+request.Path, body)
	if err != nil {
		return nil, err
	}
	sent.Header.Set("Accept", "application/json")
	sent.Header.Set("User-Agent", c.UserAgent)
	if body != nil {
		sent.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		sent.Header.Set("Authorization", "Bearer "+c.Token)
	} else {
		sent.AddCookie(&http.Cookie{Name: "sessionid", Value: c.Session})
	}
	for name, value := range request.Header {
		sent.Header.Set(name, value)
	}
	return sent, nil
}
