package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
	"sigs.k8s.io/external-dns/endpoint"
	"sigs.k8s.io/external-dns/plan"
	"sigs.k8s.io/external-dns/provider"
)

// A record set as tests/clients/README.md describes it.
type set struct {
	Name   string   `json:"name"`
	Type   string   `json:"type"`
	TTL    int      `json:"ttl"`
	Values []string `json:"values"`
}

func (s set) endpoint() *endpoint.Endpoint {
	name := s.Name + "." + os.Getenv("CORRAL_ZONE")
	return endpoint.NewEndpointWithTTL(name, s.Type, endpoint.TTL(s.TTL), s.Values...)
}

// The provider that ExternalDNS asks and tells.
type zoneProvider struct {
	provider.BaseProvider
	client *hcloud.Client
	zone   *hcloud.Zone
}

// Without HCLOUD_ENDPOINT it asks the address that is built in.
func connect() *zoneProvider {
	options := []hcloud.ClientOption{hcloud.WithToken(os.Getenv("HCLOUD_TOKEN"))}
	if endpoint := os.Getenv("HCLOUD_ENDPOINT"); endpoint != "" {
		options = append(options, hcloud.WithEndpoint(endpoint))
	}
	return &zoneProvider{client: hcloud.NewClient(options...), zone: &hcloud.Zone{Name: os.Getenv("CORRAL_ZONE")}}
}

func (p *zoneProvider) sets(ctx context.Context) ([]set, error) {
	rrsets, err := p.client.Zone.AllRRSets(ctx, p.zone)
	if err != nil {
		return nil, err
	}
	sets := []set{}
	for _, rrset := range rrsets {
		each := set{Name: rrset.Name, Type: string(rrset.Type)}
		if rrset.TTL != nil {
			each.TTL = *rrset.TTL
		}
		for _, record := range rrset.Records {
			each.Values = append(each.Values, record.Value)
		}
		sets = append(sets, each)
	}
	return sets, nil
}

func (p *zoneProvider) Records(ctx context.Context) ([]*endpoint.Endpoint, error) {
	sets, err := p.sets(ctx)
	if err != nil {
		return nil, err
	}
	endpoints := []*endpoint.Endpoint{}
	for _, each := range sets {
		endpoints = append(endpoints, each.endpoint())
	}
	return endpoints, nil
}

// ApplyChanges makes the record of the owner before what is owned, and removes it afterwards: whatever fails in between, nothing
// is left without an owner.
func (p *zoneProvider) ApplyChanges(ctx context.Context, changes *plan.Changes) error {
	for _, each := range ownersFirst(changes.Create) {
		if err := p.create(ctx, each); err != nil {
			return fmt.Errorf("create %s %s: %w", each.DNSName, each.RecordType, err)
		}
	}
	for _, each := range changes.UpdateNew {
		if err := p.update(ctx, each); err != nil {
			return fmt.Errorf("update %s %s: %w", each.DNSName, each.RecordType, err)
		}
	}
	deleted := ownersFirst(changes.Delete)
	slices.Reverse(deleted)
	for _, each := range deleted {
		if err := p.remove(ctx, each); err != nil {
			return fmt.Errorf("delete %s %s: %w", each.DNSName, each.RecordType, err)
		}
	}
	return nil
}

func ownersFirst(endpoints []*endpoint.Endpoint) []*endpoint.Endpoint {
	rank := func(e *endpoint.Endpoint) int {
		if _, isOwner := e.Labels[endpoint.OwnedRecordLabelKey]; isOwner {
			return 0
		}
		return 1
	}
	return slices.SortedStableFunc(slices.Values(endpoints), func(one, other *endpoint.Endpoint) int {
		return rank(one) - rank(other)
	})
}

func (p *zoneProvider) create(ctx context.Context, e *endpoint.Endpoint) error {
	created, _, err := p.client.Zone.CreateRRSet(ctx, p.zone, hcloud.ZoneRRSetCreateOpts{
		Name: p.name(e), Type: hcloud.ZoneRRSetType(e.RecordType), TTL: ttl(e), Records: records(e),
	})
	if err != nil {
		return err
	}
	return p.client.Action.WaitFor(ctx, created.Action)
}

func (p *zoneProvider) update(ctx context.Context, e *endpoint.Endpoint) error {
	rrset, _, err := p.client.Zone.GetRRSetByNameAndType(ctx, p.zone, p.name(e), hcloud.ZoneRRSetType(e.RecordType))
	if err != nil {
		return err
	}
	if rrset == nil {
		return p.create(ctx, e)
	}
	if want := ttl(e); want != nil && (rrset.TTL == nil || *rrset.TTL != *want) {
		action, _, err := p.client.Zone.ChangeRRSetTTL(ctx, rrset, hcloud.ZoneRRSetChangeTTLOpts{TTL: want})
		if err := p.wait(ctx, action, err); err != nil {
			return err
		}
	}
	if slices.Equal(values(rrset.Records), values(records(e))) {
		return nil
	}
	action, _, err := p.client.Zone.SetRRSetRecords(ctx, rrset, hcloud.ZoneRRSetSetRecordsOpts{Records: records(e)})
	return p.wait(ctx, action, err)
}

func (p *zoneProvider) remove(ctx context.Context, e *endpoint.Endpoint) error {
	rrset := &hcloud.ZoneRRSet{Zone: p.zone, Name: p.name(e), Type: hcloud.ZoneRRSetType(e.RecordType)}
	deleted, _, err := p.client.Zone.DeleteRRSet(ctx, rrset)
	if hcloud.IsError(err, hcloud.ErrorCodeNotFound) {
		return nil
	}
	return p.wait(ctx, deleted.Action, err)
}

func (p *zoneProvider) wait(ctx context.Context, action *hcloud.Action, err error) error {
	if err != nil {
		return err
	}
	return p.client.Action.WaitFor(ctx, action)
}

func (p *zoneProvider) name(e *endpoint.Endpoint) string {
	return strings.TrimSuffix(e.DNSName, "."+p.zone.Name)
}

func ttl(e *endpoint.Endpoint) *int {
	if !e.RecordTTL.IsConfigured() {
		return nil
	}
	return hcloud.Ptr(int(e.RecordTTL))
}

// The upstream wants names with a final dot, ExternalDNS has none.
func records(e *endpoint.Endpoint) []hcloud.ZoneRRSetRecord {
	records := []hcloud.ZoneRRSetRecord{}
	for _, target := range e.Targets {
		if e.RecordType == endpoint.RecordTypeCNAME {
			target = provider.EnsureTrailingDot(target)
		}
		records = append(records, hcloud.ZoneRRSetRecord{Value: target})
	}
	return records
}

func values(records []hcloud.ZoneRRSetRecord) []string {
	values := []string{}
	for _, record := range records {
		values = append(values, record.Value)
	}
	return slices.Sorted(slices.Values(values))
}
