package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
)

const (
	untouched = iota
	made      // what Terraform would keep
	tainted   // what Terraform would delete and create anew
)

// The record sets of one configuration, and what Terraform's state file would hold of each.
type stack struct {
	client      *hcloud.Client
	zone        *hcloud.Zone
	team        string
	parallelism int
	names       []string
	states      []int
	refusals    *refusalCounter
}

// Counts answers 429: a client that tries again does not tell of them.
type refusalCounter struct {
	count     atomic.Int64
	transport http.RoundTripper
}

func (r *refusalCounter) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.transport.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusTooManyRequests {
		r.count.Add(1)
	}
	return response, err
}

// Makes the calls that the Terraform provider of the upstream makes for resources of the type hcloud_zone_rrset, in
// their order, for as many resources at once as `-parallelism` says. Each phase tells of the calls that failed for good.
func playTerraform(ctx context.Context, s *stack, phases []string) {
	for _, phase := range phases {
		switch phase {
		case "import":
			s.importAll(ctx)
		case "apply":
			s.each(ctx, phase, s.create)
		case "ttl":
			s.each(ctx, "refresh before ttl", s.read)
			s.each(ctx, phase, s.changeTTL)
		case "records":
			s.each(ctx, "refresh before records", s.read)
			s.each(ctx, phase, s.changeRecords)
		case "refresh":
			s.each(ctx, phase, s.read)
		case "everything", "everything again":
			s.each(ctx, "refresh before "+phase, s.read)
			s.each(ctx, phase, s.changeEverything(phase))
		case "destroy":
			s.each(ctx, "refresh before destroy", s.read)
			s.each(ctx, phase, s.remove)
		default:
			fail("terraform", fmt.Errorf("there is no phase %q", phase))
		}
	}
}

// Walks the resources as Terraform does, and says how it went.
func (s *stack) each(ctx context.Context, phase string, work func(context.Context, int) error) {
	begun, refusedBefore := time.Now(), s.refusals.count.Load()
	var mutex sync.Mutex
	failures := []string{}
	resources := make(chan int)
	var workers sync.WaitGroup
	for range s.parallelism {
		workers.Go(func() {
			for at := range resources {
				if err := work(ctx, at); err != nil {
					mutex.Lock()
					failures = append(failures, fmt.Sprintf("%s: %v", s.names[at], err))
					mutex.Unlock()
				}
			}
		})
	}
	for at := range s.names {
		resources <- at
	}
	close(resources)
	workers.Wait()
	say(phase, map[string]any{
		"seconds": time.Since(begun).Seconds(), "errors": failures, "refused": s.refusals.count.Load() - refusedBefore,
		"made": s.count(made), "tainted": s.count(tainted),
	})
}

// Takes what is there for what it has made. Of one type, for pages shift when sets of others come and go.
func (s *stack) importAll(ctx context.Context) {
	rrsets, err := s.client.Zone.AllRRSetsWithOpts(ctx, s.zone, hcloud.ZoneRRSetListOpts{
		Type: []hcloud.ZoneRRSetType{hcloud.ZoneRRSetTypeA},
	})
	if err != nil {
		fail("import", err)
	}
	for _, rrset := range rrsets {
		if at := slices.Index(s.names, rrset.Name); at >= 0 {
			s.states[at] = made
		}
	}
	say("import", map[string]any{"made": s.count(made)})
}

func (s *stack) count(state int) int {
	count := 0
	for _, each := range s.states {
		if each == state {
			count++
		}
	}
	return count
}

func (s *stack) set(at int) *hcloud.ZoneRRSet {
	return &hcloud.ZoneRRSet{Zone: s.zone, ID: s.names[at] + "/A", Name: s.names[at], Type: hcloud.ZoneRRSetTypeA}
}

// What was created, but not followed to its end, counts as broken: the next run would delete and create it.
func (s *stack) create(ctx context.Context, at int) error {
	if s.states[at] == made {
		return nil
	}
	created, _, err := s.client.Zone.CreateRRSet(ctx, s.zone, hcloud.ZoneRRSetCreateOpts{
		Name: s.names[at], Type: hcloud.ZoneRRSetTypeA, TTL: hcloud.Ptr(300),
		Records: []hcloud.ZoneRRSetRecord{{Value: "192.0.2.1", Comment: "first"}},
	})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	s.states[at] = tainted
	if err := s.client.Action.WaitFor(ctx, created.Action); err != nil {
		return fmt.Errorf("wait for the creation: %w", err)
	}
	if err := s.read(ctx, at); err != nil {
		return fmt.Errorf("read what was created: %w", err)
	}
	s.states[at] = made
	return nil
}

func (s *stack) read(ctx context.Context, at int) error {
	if s.states[at] == untouched {
		return nil
	}
	rrset, _, err := s.client.Zone.GetRRSetByID(ctx, s.zone, s.names[at]+"/A")
	if err == nil && rrset == nil {
		err = errors.New("it is not there")
	}
	return err
}

func (s *stack) changeTTL(ctx context.Context, at int) error {
	return s.change(ctx, at, func(rrset *hcloud.ZoneRRSet) (*hcloud.Action, error) {
		action, _, err := s.client.Zone.ChangeRRSetTTL(ctx, rrset, hcloud.ZoneRRSetChangeTTLOpts{TTL: hcloud.Ptr(600)})
		return action, err
	})
}

func (s *stack) changeRecords(ctx context.Context, at int) error {
	return s.change(ctx, at, func(rrset *hcloud.ZoneRRSet) (*hcloud.Action, error) {
		action, _, err := s.client.Zone.SetRRSetRecords(ctx, rrset, hcloud.ZoneRRSetSetRecordsOpts{
			Records: []hcloud.ZoneRRSetRecord{{Value: "192.0.2.2"}, {Value: "192.0.2.3", Comment: "third"}},
		})
		return action, err
	})
}

// The provider ends each change with an update of the labels, whether they change or not: its answer is the new state.
func (s *stack) change(ctx context.Context, at int, write func(*hcloud.ZoneRRSet) (*hcloud.Action, error)) error {
	if s.states[at] != made {
		return nil
	}
	rrset := s.set(at)
	action, err := write(rrset)
	if err != nil {
		return fmt.Errorf("change: %w", err)
	}
	if err := s.client.Action.WaitFor(ctx, action); err != nil {
		return fmt.Errorf("wait for the change: %w", err)
	}
	if _, _, err := s.client.Zone.UpdateRRSet(ctx, rrset, hcloud.ZoneRRSetUpdateOpts{}); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	return nil
}

// TTL, records and labels in one apply. The provider sends both writes before it waits for either.
func (s *stack) changeEverything(phase string) func(context.Context, int) error {
	ttl, value := 600, "192.0.2.2"
	if phase == "everything again" {
		ttl, value = 900, "192.0.2.3"
	}
	return func(ctx context.Context, at int) error {
		if s.states[at] != made {
			return nil
		}
		rrset := s.set(at)
		ttlAction, _, err := s.client.Zone.ChangeRRSetTTL(ctx, rrset, hcloud.ZoneRRSetChangeTTLOpts{TTL: hcloud.Ptr(ttl)})
		if err != nil {
			return fmt.Errorf("change the TTL: %w", err)
		}
		action, _, err := s.client.Zone.SetRRSetRecords(ctx, rrset, hcloud.ZoneRRSetSetRecordsOpts{
			Records: []hcloud.ZoneRRSetRecord{{Value: value}},
		})
		if err != nil {
			return fmt.Errorf("change the records: %w", err)
		}
		if err := s.client.Action.WaitFor(ctx, ttlAction, action); err != nil {
			return fmt.Errorf("wait for the changes: %w", err)
		}
		labels := map[string]string{"ttl": fmt.Sprint(ttl)}
		if _, _, err := s.client.Zone.UpdateRRSet(ctx, rrset, hcloud.ZoneRRSetUpdateOpts{Labels: labels}); err != nil {
			return fmt.Errorf("change the labels: %w", err)
		}
		return nil
	}
}

func (s *stack) remove(ctx context.Context, at int) error {
	if s.states[at] == untouched {
		return nil
	}
	deleted, _, err := s.client.Zone.DeleteRRSet(ctx, s.set(at))
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	if err := s.client.Action.WaitFor(ctx, deleted.Action); err != nil {
		return fmt.Errorf("wait for the deletion: %w", err)
	}
	s.states[at] = untouched
	return nil
}

// How the provider asks for actions. Its retries are those of hcloud-go: five, after 1 to 16 s with jitter.
var providerPolls = hcloud.PollOpts{
	BackoffFunc: hcloud.ExponentialBackoffWithOpts(hcloud.ExponentialBackoffOpts{
		Base: 500 * time.Millisecond, Multiplier: 2, Cap: 10 * time.Second,
	}),
}

func newStack(zone, team string, sets, parallelism int, options []hcloud.ClientOption) *stack {
	refused := &refusalCounter{transport: http.DefaultTransport}
	s := &stack{
		client: hcloud.NewClient(slices.Concat(options, []hcloud.ClientOption{
			hcloud.WithHTTPClient(&http.Client{Transport: refused}),
			hcloud.WithPollOpts(providerPolls),
		})...),
		zone: &hcloud.Zone{Name: zone}, team: team, parallelism: parallelism,
		states: make([]int, sets), refusals: refused,
	}
	for at := range sets {
		s.names = append(s.names, strings.ToLower(fmt.Sprintf("tf%03d.%s", at, team)))
	}
	return s
}
