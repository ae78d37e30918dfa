// Keeps the record sets of a team as ExternalDNS does: with its flags, its TXT registry and its plan. The flags are those that the
// chart makes of values.yaml. See tests/clients/README.md.
//
//	apply|held           with a provider of ours, over hcloud-go
//	webhook apply|held   with the webhook as the provider, which is started as the chart starts it
//	serve <host:port>    our provider as a webhook
//	cluster <flags>      follows a cluster, as ExternalDNS' own main does
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/external-dns/endpoint"
	"sigs.k8s.io/external-dns/pkg/apis/externaldns"
	"sigs.k8s.io/external-dns/plan"
	"sigs.k8s.io/external-dns/provider"
	"sigs.k8s.io/external-dns/provider/webhook/api"
	"sigs.k8s.io/external-dns/registry"
	"sigs.k8s.io/external-dns/registry/txt"
	"sigs.k8s.io/yaml"
)

func main() {
	ctx, config := context.Background(), externaldns.NewConfig()
	switch os.Args[1] {
	case "serve":
		api.StartHTTPApi(connect(), nil, time.Minute, time.Minute, os.Args[2])
	case "cluster":
		if err := follow(ctx, config, os.Args[2:]); err != nil {
			fail("cluster", err)
		}
	}
	chart := readValues()
	if err := config.ParseFlags(flags(chart)); err != nil {
		fail("flags", err)
	}
	if err := run(ctx, config, chart); err != nil {
		fail("external-dns", err)
	}
}

func run(ctx context.Context, config *externaldns.Config, chart chartValues) error {
	zone := connect()
	var dns provider.Provider = zone
	if os.Args[1] == "webhook" {
		started, err := startWebhook(ctx, config, chart)
		if err != nil {
			return fmt.Errorf("webhook: %w", err)
		}
		defer started.stop()
		dns = started
	}
	owned, err := txt.New(config, dns)
	if err != nil {
		return err
	}
	switch os.Args[len(os.Args)-1] {
	case "apply":
		return apply(ctx, config, owned, wanted())
	case "held":
		return held(ctx, config, owned, zone)
	default:
		return fmt.Errorf("usage: external-dns [webhook] apply|held")
	}
}

// The values of the chart.
type chartValues struct {
	Provider struct {
		Webhook struct {
			Env []struct{ Name, Value string }
		}
	}
	Policy             string
	TxtOwnerID         string `json:"txtOwnerId"`
	TxtPrefix          string
	DomainFilters      []string
	ManagedRecordTypes []string
	ExtraArgs          []string
}

func readValues() chartValues {
	read, file := chartValues{}, filepath.Join(os.Getenv("CORRAL_FOLDER"), "values.yaml")
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(text, &read)
	}
	if err != nil {
		fail(file, err)
	}
	return read
}

// What the chart's template makes of its values, or the flags in $CORRAL_FLAGS.
func flags(values chartValues) []string {
	if text := os.Getenv("CORRAL_FLAGS"); text != "" {
		args := []string{}
		if err := json.Unmarshal([]byte(text), &args); err != nil {
			fail("CORRAL_FLAGS", err)
		}
		return args
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

// One run of ExternalDNS' controller, for $CORRAL_WANTED or what Services and Ingresses want.
func apply(ctx context.Context, config *externaldns.Config, owned registry.Registry, wanted []*endpoint.Endpoint) error {
	current, err := owned.Records(ctx)
	if err != nil {
		return err
	}
	desired, err := owned.AdjustEndpoints(wanted)
	if err != nil {
		return err
	}
	changes := (&plan.Plan{
		Policies:       []plan.Policy{plan.Policies[config.Policy]},
		Current:        current,
		Desired:        desired,
		DomainFilter:   endpoint.MatchAllDomainFilters{endpoint.NewDomainFilter(config.DomainFilter), owned.GetDomainFilter()},
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
func held(ctx context.Context, config *externaldns.Config, owned registry.Registry, zone *zoneProvider) error {
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
	sets, err := zone.sets(ctx)
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
