// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"corral.dev/terraform-provider-corral/internal/api"
)

// lasting parts of the status stay when the declaration changes.
var lasting = map[string]bool{"api_server": true}

// ModifyPlan asks Corral what the change does, what it costs and whether it is refused, and completes the plan with what Corral chooses.
func (d *declared) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	prior, plan, config := attributesOf(req.State.Raw), attributesOf(req.Plan.Raw), attributesOf(req.Config.Raw)
	isNew, isDeleted := req.State.Raw.IsNull(), req.Plan.Raw.IsNull()
	if d.client == nil || !isNew && !isDeleted && d.isReplaced(prior, plan) {
		return
	}
	if isDeleted {
		d.planDeletion(ctx, prior, &resp.Diagnostics)
		return
	}
	if !isNew {
		if isPatchOf(textOf(prior["kubernetes_version"]), textOf(plan["kubernetes_version"])) {
			plan["kubernetes_version"] = prior["kubernetes_version"]
		}
		d.fill(plan, prior)
	}
	var dryRun any
	if d.dryRuns && d.isKnown(config) {
		dryRun = d.dryRun(ctx, plan, isNew, &resp.Diagnostics)
		if resp.Diagnostics.HasError() {
			return
		}
	}
	if spec := member(dryRun, "resource", "spec"); spec != nil {
		d.fillFrom(plan, spec)
	}
	if !isNew {
		d.planStatus(plan, prior, dryRun)
	}
	resp.Plan.Raw = tftypes.NewValue(req.Plan.Raw.Type(), plan)
}

// isReplaced: then Terraform plans a deletion and a creation by themselves.
func (d *declared) isReplaced(prior, plan values) bool {
	isOther := func(name string) bool { return !prior[name].Equal(plan[name]) }
	for _, each := range d.spec {
		if each.Fixed && isOther(each.Name) {
			return true
		}
	}
	return isOther(d.key)
}

func (d *declared) isKnown(config values) bool {
	for _, each := range d.spec {
		if !config[each.Name].IsFullyKnown() {
			return false
		}
	}
	return config[d.key].IsFullyKnown()
}

// fill takes what people leave out from what is declared already.
func (d *declared) fill(plan, prior values) {
	for _, each := range d.spec {
		plan[each.Name] = filled(plan[each.Name], prior[each.Name])
	}
}

func (d *declared) fillFrom(plan values, spec any) {
	for _, each := range d.spec {
		plan[each.Name] = filled(plan[each.Name], each.fromAPI(member(spec, each.Wire)))
	}
}

// planStatus: without a change everything stays. What failed, or was changed by others behind the back of Corral, is declared once more.
func (d *declared) planStatus(plan, prior values, dryRun any) {
	effects, _ := member(dryRun, "effects").([]any)
	failed := textOf(attributesOf(prior["last_operation"])["state"]) == "failed"
	isChanged := len(effects) > 0 || failed
	for name, before := range prior {
		if !d.isStatus(name) && name != "id" && !plan[name].Equal(before) {
			isChanged = true
		}
	}
	for name, before := range prior {
		isLasting := name == "id" || lasting[name] && !before.IsNull()
		switch {
		case isLasting || d.isStatus(name) && !isChanged:
			plan[name] = before
		case d.isStatus(name):
			plan[name] = unknown(before)
		}
	}
}

func (d *declared) isStatus(name string) bool {
	for _, each := range d.status {
		if each.Name == name {
			return true
		}
	}
	return false
}

// dryRun reports effects and cost as warnings and refusals as errors. It returns nil when Corral cannot say yet what the change does.
func (d *declared) dryRun(ctx context.Context, plan values, isNew bool, diagnostics *diag.Diagnostics) any {
	request := api.Request{Method: "PUT", Path: d.pathOf(plan) + "?dryRun=true", Body: map[string]any{"spec": bodyOf(d.spec, plan)}}
	if isNew {
		request.Header = map[string]string{"If-None-Match": "*"}
	}
	answer, err := d.client.Do(ctx, request)
	if err == nil {
		d.reportEffects(answer.Body, d.title(plan), diagnostics)
		return answer.Body
	}
	problem := api.AsProblem(err)
	if isNew && problem != nil && problem.Status == http.StatusPreconditionFailed {
		diagnostics.AddWarning(d.title(plan)+" exists already", "If this plan does not delete it first, import it.")
		return nil
	}
	refused := d.title(plan) + " would be refused"
	if problem == nil || len(problem.Errors) == 0 {
		addError(diagnostics, d.spec, refused, err)
		return nil
	}
	for _, each := range problem.Errors {
		severity, summary := diag.SeverityError, refused
		if mayComeTrue(each, plan, isNew) {
			severity, summary = diag.SeverityWarning, d.title(plan)+" cannot be planned yet"
		}
		addAt(diagnostics, severity, pathOf(d.spec, each.Pointer), summary, refusalText(each, problem))
	}
	return nil
}

// mayComeTrue: the same plan may create the connection, or adopt the servers, which the declaration needs.
func mayComeTrue(refusal api.Refusal, plan values, isNew bool) bool {
	if refusal.Pointer == "/spec/connectionRef" {
		return isNew
	}
	for at, pool := range elementsOf(plan["node_pools"]) {
		source := textOf(attributesOf(pool)["source"])
		if source != "" && source != "managed" && strings.HasPrefix(refusal.Pointer+"/", fmt.Sprintf("/spec/nodePools/%d/", at)) {
			return true
		}
	}
	return false
}

// grave effects take something away that people may miss.
var grave = map[string]bool{"replaced": true, "removed": true, "upgraded": true, "hibernated": true, "repaired": true}

func (d *declared) reportEffects(body any, title string, diagnostics *diag.Diagnostics) {
	effects, _ := member(body, "effects").([]any)
	for _, each := range effects {
		kind := memberText(each, "kind")
		if !grave[kind] {
			continue
		}
		what := title
		if pool := memberText(each, "pool"); pool != "" {
			what += ", node pool " + pool
		}
		at := path.Empty()
		if fields, _ := member(each, "fields").([]any); len(fields) > 0 && kind != "removed" {
			at = pathOf(d.spec, fmt.Sprint(fields[0]))
		}
		addAt(diagnostics, diag.SeverityWarning, at, what+": "+kind, memberText(each, "reason"))
	}
	if text := costText(body); text != "" && len(effects) > 0 {
		diagnostics.AddWarning(title+": cost", text)
	}
}

// costText is "" when the change costs nothing.
func costText(body any) string {
	least, most := memberText(body, "costDifference", "monthly", "minimum"), memberText(body, "costDifference", "monthly", "maximum")
	if least == "" || most == "" {
		return "Not known: there is no price yet for a part of it."
	}
	if isZero(least) && isZero(most) {
		return ""
	}
	return fmt.Sprintf("Per month: %s to %s %s.", signed(least), signed(most), memberText(body, "cost", "currency"))
}

func isZero(amount string) bool { return strings.Trim(amount, "-0.") == "" }

func signed(amount string) string {
	if strings.HasPrefix(amount, "-") || isZero(amount) {
		return amount
	}
	return "+" + amount
}

// planDeletion says what is lost, and whether the deletion is refused.
func (d *declared) planDeletion(ctx context.Context, prior values, diagnostics *diag.Diagnostics) {
	if !d.dryRuns {
		return
	}
	answer, err := d.client.Do(ctx, api.Request{Method: "DELETE", Path: d.pathOf(prior) + "?dryRun=true"})
	if api.HasStatus(err, http.StatusNotFound) {
		return
	}
	if err != nil {
		addError(diagnostics, d.spec, "The deletion of "+d.title(prior)+" would be refused", err)
		return
	}
	lost, _ := member(answer.Body, "deletes").([]any)
	lines := []string{}
	for _, each := range lost {
		lines = append(lines, strings.TrimSpace(memberText(each, "kind")+" "+memberText(each, "name"))+": "+memberText(each, "note"))
	}
	if len(lines) > 0 {
		diagnostics.AddWarning(d.title(prior)+": what is deleted with it", strings.Join(lines, "\n"))
	}
}
