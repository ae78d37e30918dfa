package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
)

// A record set of the configuration, or of the state.
type declared struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	TTL     int      `json:"ttl"`
	Values  []string `json:"values"`
	Tainted bool     `json:"tainted,omitempty"` // was created, but not followed to its end
}

func (d declared) id() string { return d.Name + "/" + d.Type }

// Makes the record sets of the team as $CORRAL_WANTED says, with the calls of the upstream's Terraform provider in their order:
// it reads what the state file knows, compares, and changes as many at once as `-parallelism` says. After each change the
// state file is written, as Terraform does.
type configuration struct {
	client      *hcloud.Client
	zone        *hcloud.Zone
	parallelism int
	file        string
	mutex       sync.Mutex
	state       map[string]declared
	failures    []error
}

func newConfiguration(client *hcloud.Client, parallelism int) *configuration {
	c := &configuration{
		client: client, zone: &hcloud.Zone{Name: os.Getenv("CORRAL_ZONE")}, parallelism: parallelism,
		file: filepath.Join(os.Getenv("CORRAL_FOLDER"), "state.json"), state: map[string]declared{},
	}
	for _, each := range readSets(c.file) {
		c.state[each.id()] = each
	}
	return c
}

func (c *configuration) apply(ctx context.Context) {
	c.each(ctx, c.held(), c.refresh)
	wanted := map[string]declared{}
	for _, each := range readSets(os.Getenv("CORRAL_WANTED")) {
		wanted[each.id()] = each
	}
	changes := []declared{}
	for id, is := range c.state {
		if want, ok := wanted[id]; !ok || !same(is, want) {
			changes = append(changes, is)
		}
	}
	for id, want := range wanted {
		if _, ok := c.state[id]; !ok {
			changes = append(changes, want)
		}
	}
	c.each(ctx, changes, func(ctx context.Context, each declared) error {
		is, isThere := c.at(each.id())
		want, isWanted := wanted[each.id()]
		if isThere && (!isWanted || is.Tainted) {
			if err := c.remove(ctx, is); err != nil || !isWanted {
				return err
			}
			isThere = false
		}
		if !isThere {
			return c.create(ctx, want)
		}
		return c.change(ctx, is, want)
	})
	say("apply", map[string]any{"changes": len(changes), "failures": len(c.failures)})
	if len(c.failures) > 0 {
		fail("apply", errors.Join(c.failures...))
	}
}

func (c *configuration) say() {
	tainted := []string{}
	for _, each := range c.held() {
		if each.Tainted {
			tainted = append(tainted, each.id())
		}
	}
	say("held", map[string]any{"sets": c.held(), "tainted": tainted})
}

func (c *configuration) create(ctx context.Context, want declared) error {
	created, _, err := c.client.Zone.CreateRRSet(ctx, c.zone, hcloud.ZoneRRSetCreateOpts{
		Name: want.Name, Type: hcloud.ZoneRRSetType(want.Type), TTL: hcloud.Ptr(want.TTL), Records: recordsOf(want),
	})
	if err != nil {
		return err
	}
	want.Tainted = true
	c.put(want)
	if err := c.client.Action.WaitFor(ctx, created.Action); err != nil {
		return err
	}
	return c.refresh(ctx, want)
}

func (c *configuration) change(ctx context.Context, is, want declared) error {
	rrset := c.rrset(is)
	if is.TTL != want.TTL {
		action, _, err := c.client.Zone.ChangeRRSetTTL(ctx, rrset, hcloud.ZoneRRSetChangeTTLOpts{TTL: hcloud.Ptr(want.TTL)})
		if err = c.wait(ctx, action, err); err != nil {
			return err
		}
	}
	if !slices.Equal(is.Values, want.Values) {
		action, _, err := c.client.Zone.SetRRSetRecords(ctx, rrset, hcloud.ZoneRRSetSetRecordsOpts{Records: recordsOf(want)})
		if err = c.wait(ctx, action, err); err != nil {
			return err
		}
	}
	return c.refresh(ctx, is)
}

func (c *configuration) remove(ctx context.Context, is declared) error {
	deleted, _, err := c.client.Zone.DeleteRRSet(ctx, c.rrset(is))
	if err == nil {
		err = c.client.Action.WaitFor(ctx, deleted.Action)
	}
	if err != nil {
		return err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.state, is.id())
	return c.write()
}

func (c *configuration) wait(ctx context.Context, action *hcloud.Action, err error) error {
	if err != nil {
		return err
	}
	return c.client.Action.WaitFor(ctx, action)
}

func (c *configuration) refresh(ctx context.Context, is declared) error {
	rrset, _, err := c.client.Zone.GetRRSetByID(ctx, c.zone, is.id())
	if err != nil {
		return err
	}
	if rrset == nil {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		delete(c.state, is.id())
		return c.write()
	}
	now := declared{Name: rrset.Name, Type: string(rrset.Type), TTL: 0, Values: []string{}}
	if rrset.TTL != nil {
		now.TTL = *rrset.TTL
	}
	for _, record := range rrset.Records {
		now.Values = append(now.Values, record.Value)
	}
	c.put(now)
	return nil
}

// Calls work for each set, as many at once as the parallelism says, and keeps what failed.
func (c *configuration) each(ctx context.Context, sets []declared, work func(context.Context, declared) error) {
	queue := make(chan declared)
	var workers sync.WaitGroup
	for range c.parallelism {
		workers.Go(func() {
			for each := range queue {
				if err := work(ctx, each); err != nil {
					c.mutex.Lock()
					c.failures = append(c.failures, fmt.Errorf("%s: %w", each.id(), err))
					c.mutex.Unlock()
				}
			}
		})
	}
	for _, each := range sets {
		queue <- each
	}
	close(queue)
	workers.Wait()
}

func (c *configuration) held() []declared {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.sets()
}

func (c *configuration) at(id string) (declared, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	found, ok := c.state[id]
	return found, ok
}

func (c *configuration) put(set declared) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.state[set.id()] = set
	if err := c.write(); err != nil {
		fail("state", err)
	}
}

func (c *configuration) sets() []declared {
	sets := []declared{}
	for _, each := range c.state {
		sets = append(sets, each)
	}
	return sets
}

func (c *configuration) write() error {
	text, err := json.Marshal(c.sets())
	if err != nil {
		return err
	}
	return os.WriteFile(c.file, text, 0o600)
}

func (c *configuration) rrset(d declared) *hcloud.ZoneRRSet {
	return &hcloud.ZoneRRSet{Zone: c.zone, ID: d.id(), Name: d.Name, Type: hcloud.ZoneRRSetType(d.Type)}
}

func readSets(file string) []declared {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	sets := []declared{}
	if err == nil {
		err = json.Unmarshal(text, &sets)
	}
	if err != nil {
		fail(file, err)
	}
	return sets
}

func recordsOf(d declared) []hcloud.ZoneRRSetRecord {
	records := []hcloud.ZoneRRSetRecord{}
	for _, value := range d.Values {
		records = append(records, hcloud.ZoneRRSetRecord{Value: value})
	}
	return records
}

func same(is, want declared) bool {
	return !is.Tainted && is.TTL == want.TTL && slices.Equal(is.Values, want.Values)
}
