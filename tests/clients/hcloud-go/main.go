// Uses hcloud-go as tools do that contain it. Each command prints lines of JSON.
//
// Without HCLOUD_ENDPOINT it asks the address that is built in.
//
//	walk <zone> <team>              everything that hcloud-go does with record sets, a line for each step
//	<parallelism> apply|held        see tests/clients/README.md
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	command, args := os.Args[1], os.Args[2:]
	switch {
	case command == "walk" && len(args) == 2:
		client := hcloud.NewClient(options()...)
		walk(ctx, client, findZone(ctx, client, args[0]), args[1])
	case len(args) == 1 && args[0] == "apply":
		newConfiguration(connect(), number(command)).apply(ctx)
	case len(args) == 1 && args[0] == "held":
		newConfiguration(connect(), number(command)).say()
	default:
		fail("usage", fmt.Errorf("there is no command %v", os.Args[1:]))
	}
}

func connect() *hcloud.Client {
	// snippet connect
	client := hcloud.NewClient(
		hcloud.WithEndpoint(os.Getenv("HCLOUD_ENDPOINT")), // https://dns.example.org/v1
		hcloud.WithToken(os.Getenv("HCLOUD_TOKEN")),
	)
	// end of snippet
	return client
}

func options() []hcloud.ClientOption {
	options := []hcloud.ClientOption{
		hcloud.WithToken(os.Getenv("HCLOUD_TOKEN")),
		hcloud.WithApplication("corral-tests", "1"),
	}
	if endpoint := os.Getenv("HCLOUD_ENDPOINT"); endpoint != "" {
		options = append(options, hcloud.WithEndpoint(endpoint))
	}
	return options
}

func findZone(ctx context.Context, client *hcloud.Client, name string) *hcloud.Zone {
	zone, _, err := client.Zone.GetByName(ctx, name)
	if err != nil || zone == nil {
		fail("zone", err)
	}
	return zone
}

func walk(ctx context.Context, client *hcloud.Client, zone *hcloud.Zone, team string) {
	say("zone", map[string]any{"id": zone.ID, "name": zone.Name, "mode": zone.Mode, "ttl": zone.TTL})
	name := "go." + team
	wait := func(step string, action *hcloud.Action, err error) {
		if err == nil {
			err = client.Action.WaitFor(ctx, action)
		}
		if err != nil {
			fail(step, err)
		}
		rrset, _, err := client.Zone.GetRRSetByNameAndType(ctx, zone, name, hcloud.ZoneRRSetTypeA)
		if err != nil {
			fail(step, err)
		}
		sayRRSet(step, rrset)
	}

	created, _, err := client.Zone.CreateRRSet(ctx, zone, hcloud.ZoneRRSetCreateOpts{
		Name: name, Type: hcloud.ZoneRRSetTypeA, TTL: hcloud.Ptr(300),
		Labels:  map[string]string{"made-by": "hcloud-go"},
		Records: []hcloud.ZoneRRSetRecord{{Value: "192.0.2.1", Comment: "first"}},
	})
	if err != nil {
		fail("create", err)
	}
	wait("create", created.Action, nil)
	rrset := created.RRSet

	action, _, err := client.Zone.AddRRSetRecords(ctx, rrset, hcloud.ZoneRRSetAddRecordsOpts{
		Records: []hcloud.ZoneRRSetRecord{{Value: "192.0.2.2"}}, TTL: hcloud.Ptr(300),
	})
	wait("add", action, err)
	action, _, err = client.Zone.SetRRSetRecords(ctx, rrset, hcloud.ZoneRRSetSetRecordsOpts{
		Records: []hcloud.ZoneRRSetRecord{{Value: "192.0.2.3"}, {Value: "192.0.2.4", Comment: "fourth"}},
	})
	wait("set", action, err)
	action, _, err = client.Zone.RemoveRRSetRecords(ctx, rrset, hcloud.ZoneRRSetRemoveRecordsOpts{
		Records: []hcloud.ZoneRRSetRecord{{Value: "192.0.2.3"}},
	})
	wait("remove", action, err)
	action, _, err = client.Zone.ChangeRRSetTTL(ctx, rrset, hcloud.ZoneRRSetChangeTTLOpts{TTL: nil})
	wait("change_ttl", action, err)
	followed, _, err := client.Zone.Action.GetByID(ctx, action.ID)
	if err != nil || followed == nil {
		fail("action", err)
	}
	say("action", map[string]any{"status": followed.Status})
	updated, _, err := client.Zone.UpdateRRSet(ctx, rrset, hcloud.ZoneRRSetUpdateOpts{
		Labels: map[string]string{"made-by": "somebody"},
	})
	if err != nil {
		fail("update", err)
	}
	sayRRSet("update", updated)

	listAll(ctx, client, zone, team)
	refusals(ctx, client, zone)

	deleted, _, err := client.Zone.DeleteRRSet(ctx, rrset)
	if err != nil {
		fail("delete", err)
	}
	wait("delete", deleted.Action, nil)
}

// More sets than a page holds, made side by side and awaited together.
func listAll(ctx context.Context, client *hcloud.Client, zone *hcloud.Zone, team string) {
	actions := []*hcloud.Action{}
	for i := range 30 {
		created, _, err := client.Zone.CreateRRSet(ctx, zone, hcloud.ZoneRRSetCreateOpts{
			Name: fmt.Sprintf("page%02d.%s", i, team), Type: hcloud.ZoneRRSetTypeTXT,
			Records: []hcloud.ZoneRRSetRecord{{Value: `"page"`}},
		})
		if err != nil {
			fail("create many", err)
		}
		actions = append(actions, created.Action)
	}
	if err := client.Action.WaitFor(ctx, actions...); err != nil {
		fail("wait for many", err)
	}
	all, err := client.Zone.AllRRSets(ctx, zone)
	if err != nil {
		fail("list", err)
	}
	texts, err := client.Zone.AllRRSetsWithOpts(ctx, zone, hcloud.ZoneRRSetListOpts{
		Type: []hcloud.ZoneRRSetType{hcloud.ZoneRRSetTypeTXT}, ListOpts: hcloud.ListOpts{PerPage: 100},
	})
	if err != nil {
		fail("list by type", err)
	}
	labelled, err := client.Zone.AllRRSetsWithOpts(ctx, zone, hcloud.ZoneRRSetListOpts{
		ListOpts: hcloud.ListOpts{LabelSelector: "made-by=somebody"},
	})
	if err != nil {
		fail("list by label", err)
	}
	say("list", map[string]any{"all": len(all), "texts": len(texts), "labelled": len(labelled)})
}

func refusals(ctx context.Context, client *hcloud.Client, zone *hcloud.Zone) {
	_, _, err := client.Zone.CreateRRSet(ctx, zone, hcloud.ZoneRRSetCreateOpts{
		Name: "www.somebody-else", Type: hcloud.ZoneRRSetTypeA,
		Records: []hcloud.ZoneRRSetRecord{{Value: "192.0.2.1"}},
	})
	absent, _, absentErr := client.Zone.GetRRSetByNameAndType(ctx, zone, "www.somebody-else", hcloud.ZoneRRSetTypeA)
	say("refusals", map[string]any{
		"foreignIsForbidden": hcloud.IsError(err, hcloud.ErrorCodeForbidden),
		"foreignIsAbsent":    absent == nil && absentErr == nil,
	})
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil || value < 1 {
		fail("usage", fmt.Errorf("%q is no number of anything", text))
	}
	return value
}

func sayRRSet(step string, rrset *hcloud.ZoneRRSet) {
	if rrset == nil {
		say(step, map[string]any{"absent": true})
		return
	}
	values := []string{}
	for _, record := range rrset.Records {
		values = append(values, record.Value)
	}
	say(step, map[string]any{"id": rrset.ID, "ttl": rrset.TTL, "labels": rrset.Labels, "values": values})
}

func say(step string, what map[string]any) {
	what["step"] = step
	line, err := json.Marshal(what)
	if err != nil {
		fail(step, err)
	}
	fmt.Println(string(line))
}

func fail(step string, err error) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", step, err)
	os.Exit(1)
}
