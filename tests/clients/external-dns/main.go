// Keeps the record sets of a team as ExternalDNS does: with its flags, its TXT registry and its plan. The provider is ours, over
// hcloud-go, because the webhook of the upstream is not a library. The flags are those that the chart makes of values.yaml.
// See tests/clients/README.md.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/external-dns/endpoint"
	"sigs.k8s.io/external-dns/pkg/apis/externaldns"
	"sigs.k8s.io/external-dns/plan"
	"sigs.k8s.io/external-dns/registry"
	"sigs.k8s.io/external-dns/registry/txt"
	"sigs.k8s.io/yaml"
)

func main() {
	config := externaldns.NewConfig()
	if err := config.ParseFlags(flags(filepath.Join(os.Getenv("CORRAL_FOLDER"), "values.yaml"))); err != nil {
		fail("flags", err)
	}
	ctx, provider := context.Background(), connect()
	owned, err := txt.New(config, provider)
	if err != nil {
		fail("registry", err)
	}
	switch os.Args[len(os.Args)-1] {
	case "apply":
		err = apply(ctx, config, owned)
	case "held":
		err = held(ctx, config, owned, provider)
	default:
		err = fmt.Errorf("usage: external-dns apply|held")
	}
	if err != nil {
		fail("external-dns", err)
	}
}

// What the chart's template makes of its values.
func flags(file string) []string {
	values := struct {
		Policy             string
		TxtOwnerID         string `json:"txtOwnerId"`
		TxtPrefix          string
		DomainFilters      []string
		ManagedRecordTypes []string
		ExtraArgs          []string
	}{}
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(text, &values)
	}
	if err != nil {
		fail(file, err)
	}
	args := []string{
		"--provider=webhook", "--source=service", "--registry=txt", "--policy=" + cmp.Or(values.Policy, "upsert-only"),
		"--txt-owner-id=" + values.TxtOwnerID, "--txt-prefix=" + values.TxtPrefix,
	}
	for _, each := range values.DomainFilters {
		args = append(args, "--domain-filter="+each)
	}
	for _, each := range values.ManagedRecordTypes {
		args = append(args, "--managed-record-types="+each)
	}
	return append(args, values.ExtraArgs...)
}

// One run of ExternalDNS' controller, with $CORRAL_WANTED in the place of Services and Ingresses.
func apply(ctx context.Context, config *externaldns.Config, owned registry.Registry) error {
	current, err := owned.Records(ctx)
	if err != nil {
		return err
	}
	desired, err := owned.AdjustEndpoints(wanted())
	if err != nil {
		return err
	}
	changes := (&plan.Plan{
		Policies:       []plan.Policy{plan.Policies[config.Policy]},
		Current:        current,
		Desired:        desired,
		DomainFilter:   endpoint.MatchAllDomainFilters{endpoint.NewDomainFilter(config.DomainFilter)},
		ManagedRecords: config.ManagedDNSRecordTypes,
		OwnerID:        owned.OwnerID(),
	}).Calculate().Changes
	fmt.Printf("create %d, update %d, delete %d\n", len(changes.Create), len(changes.UpdateNew), len(changes.Delete))
	if !changes.HasChanges() {
		return nil
	}
	return owned.ApplyChanges(ctx, changes)
}

// Everything in the zone, and which of it does not belong to this owner.
func held(ctx context.Context, config *externaldns.Config, owned registry.Registry, provider *zoneProvider) error {
	records, err := owned.Records(ctx)
	if err != nil {
		return err
	}
	unowned := []string{}
	for _, each := range records {
		if !each.IsOwnedBy(config.TXTOwnerID) {
			unowned = append(unowned, each.DNSName+" "+each.RecordType)
		}
	}
	sets, err := provider.sets(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"sets": sets, "tainted": unowned})
}

func wanted() []*endpoint.Endpoint {
	sets := []set{}
	text, err := os.ReadFile(os.Getenv("CORRAL_WANTED"))
	if err == nil {
		err = json.Unmarshal(text, &sets)
	}
	if err != nil {
		fail("wanted", err)
	}
	endpoints := []*endpoint.Endpoint{}
	for _, each := range sets {
		endpoints = append(endpoints, each.endpoint())
	}
	return endpoints
}

func fail(step string, err error) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", step, err)
	os.Exit(1)
}
