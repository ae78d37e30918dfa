// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"encoding/json"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"corral.dev/terraform-provider-corral/internal/api"
)

func modelNamed(t *testing.T, members []model, name string) model {
	t.Helper()
	for _, each := range members {
		if each.Name == name {
			return each
		}
	}
	t.Fatalf("there is no attribute %s", name)
	return model{}
}

func TestPointersNameAttributes(t *testing.T) {
	for pointer, want := range map[string]string{
		"/spec/region":                         "region",
		"/spec/nodePools/1/machineType":        "node_pools[1].machine_type",
		"/spec/network/podCIDR":                "network.pod_cidr",
		"/spec/nodePools/0/image/version":      "node_pools[0].image",
		"/spec/somethingThatALaterReleaseAdds": "",
		"":                                     "",
	} {
		if got := pathOf(models["clusterSpec"], pointer).String(); got != want {
			t.Errorf("%q is %q, not %q", pointer, got, want)
		}
	}
}

func TestBodiesBecomeValuesAndAreSentBackTheSame(t *testing.T) {
	text := `[{"name":"general","source":"managed","machineType":"cx22","image":{"name":"ubuntu","version":"24","swap":true,"size":20},"minimum":1,"maximum":1000,"publicIP":false}]`
	pools := modelNamed(t, models["clusterSpec"], "node_pools")
	answer := decoded(t, text)
	if sent := pools.toAPI(pools.fromAPI(answer)); !covers(answer, sent) || !covers(sent, answer) {
		t.Errorf("%v was sent for %v", sent, answer)
	}
	claims := modelNamed(t, models["trustedIssuerSpec"], "claims")
	answer = decoded(t, `{"sub":"repo:acme/*","repository_owner_id":"4711"}`)
	if sent := claims.toAPI(claims.fromAPI(answer)); !covers(answer, sent) {
		t.Errorf("claims are texts, not %v", sent)
	}
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	answer, err := api.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestWhatIsNotKnownComesFromTheElementOfTheSameName(t *testing.T) {
	pools := modelNamed(t, models["clusterSpec"], "node_pools")
	prior := pools.fromAPI(decoded(t, `[{"name":"a","source":"pooled"},{"name":"b","source":"managed"}]`))
	planned := []tftypes.Value{}
	for _, name := range []string{"b", "new", "a"} {
		attributes := attributesOf(elementsOf(prior)[0])
		attributes["name"], attributes["source"] = text(name), tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
		planned = append(planned, tftypes.NewValue(pools.Element.tfType(), attributes))
	}
	got := elementsOf(filled(tftypes.NewValue(pools.tfType(), planned), prior))
	if source := textOf(attributesOf(got[0])["source"]); source != "managed" {
		t.Errorf("b is %s", source)
	}
	if attributesOf(got[1])["source"].IsKnown() {
		t.Error("a new pool has no source yet")
	}
	if source := textOf(attributesOf(got[2])["source"]); source != "pooled" {
		t.Errorf("a is %s", source)
	}
}

func TestADeclarationCoversWhatWasSent(t *testing.T) {
	for _, each := range []struct {
		found, sent string
		want        bool
	}{
		{`{"kubernetesVersion":"1.34.3","region":"hel1"}`, `{"kubernetesVersion":"1.34"}`, true},
		{`{"kubernetesVersion":"1.35.0"}`, `{"kubernetesVersion":"1.34"}`, false},
		{`{"kubernetesVersion":"1.3"}`, `{"kubernetesVersion":"1.34"}`, false},
		{`{"name":"main"}`, `{"name":"main","token":"secret"}`, true},
		{`{"nodePools":[{"name":"a","maximum":3}]}`, `{"nodePools":[{"name":"a","maximum":3}]}`, true},
		{`{"nodePools":[{"name":"a","maximum":3}]}`, `{"nodePools":[{"name":"a","maximum":4}]}`, false},
		{`{"nodePools":[{"name":"a"},{"name":"b"}]}`, `{"nodePools":[{"name":"a"}]}`, false},
		{`{}`, `{"hibernated":false}`, false},
	} {
		if got := covers(decoded(t, each.found), decoded(t, each.sent)); got != each.want {
			t.Errorf("%s covers %s: %v", each.found, each.sent, got)
		}
	}
}

func TestCostHasASign(t *testing.T) {
	for difference, want := range map[string]string{
		`{"minimum":"3.79","maximum":"7.58"}`:  "Per month: +3.79 to +7.58 EUR.",
		`{"minimum":"-3.79","maximum":"0.00"}`: "Per month: -3.79 to 0.00 EUR.",
		`{"minimum":"0.00","maximum":"-0.00"}`: "",
		`{"minimum":null,"maximum":"7.58"}`:    "Not known: there is no price yet for a part of it.",
	} {
		body := map[string]any{"cost": map[string]any{"currency": "EUR"}, "costDifference": map[string]any{"monthly": decoded(t, difference)}}
		if got := costText(body); got != want {
			t.Errorf("%s is %q", difference, got)
		}
	}
}

func TestMemberNumbersAreWhole(t *testing.T) {
	if got := wholeNumber(model{Kind: "integer"}.fromAPI(json.Number("9007199254740991"))); got != 9007199254740991 {
		t.Errorf("it is %d", got)
	}
}
