// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"corral.dev/terraform-provider-corral/internal/api"
)

// declared is a resource that the API keeps at a name, and that a PUT creates or changes.
type declared struct {
	client *api.Client
	// typeName is that of Terraform, without the name of the provider.
	typeName string
	// noun is for people.
	noun        string
	description string
	// collection is the part of the path.
	collection string
	// key is the attribute with the name in the path.
	key, keyDescription string
	spec, status        []model
	// extra attributes are those of Terraform alone.
	extra map[string]schema.Attribute
	// hasTags: the API answers entity tags, and takes preconditions.
	hasTags bool
	// dryRuns: the API plans changes.
	dryRuns bool
}

var (
	_ resource.ResourceWithConfigure   = (*declared)(nil)
	_ resource.ResourceWithModifyPlan  = (*declared)(nil)
	_ resource.ResourceWithImportState = (*declared)(nil)
)

func (d *declared) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + d.typeName
}

func (d *declared) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	d.client, _ = req.ProviderData.(*api.Client)
}

func (d *declared) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := attributesFor(d.spec, d.status)
	attributes["id"] = schema.StringAttribute{Computed: true, MarkdownDescription: "Never changes, and belongs to no later resource of the same name."}
	attributes[d.key] = schema.StringAttribute{
		Required:            true,
		MarkdownDescription: d.keyDescription + " A change replaces the " + strings.ToLower(d.noun) + ".",
		PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
	}
	for name, each := range d.extra {
		attributes[name] = each
	}
	resp.Schema = schema.Schema{MarkdownDescription: d.description, Attributes: attributes}
}

func (d *declared) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root(d.key), req, resp)
}

func (d *declared) pathOf(attributes values) string {
	return d.client.Path(d.collection, textOf(attributes[d.key]))
}

func (d *declared) title(attributes values) string {
	return d.noun + " " + textOf(attributes[d.key])
}

func (d *declared) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan := attributesOf(req.Plan.Raw)
	failed := d.title(plan) + " is not created"
	header := map[string]string{"If-None-Match": "*"}
	if !d.hasTags {
		header = nil
		if _, err := d.client.Do(ctx, api.Request{Method: "GET", Path: d.pathOf(plan)}); err == nil {
			resp.Diagnostics.AddError(failed, d.existsText(plan))
			return
		}
	}
	seen, err := d.declare(ctx, plan, attributesOf(req.Config.Raw), header)
	if api.HasStatus(err, http.StatusPreconditionFailed) {
		resp.Diagnostics.AddError(failed, d.existsText(plan))
		return
	}
	if seen.body == nil {
		addError(&resp.Diagnostics, d.spec, failed, err)
		return
	}
	resp.State.Raw = d.stateOf(req.Plan.Raw.Type(), seen.body, plan)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, "etag", seen.tag())...)
	reportCreation(&resp.Diagnostics, d.title(plan)+" is not ready", err)
}

func (d *declared) existsText(attributes values) string {
	return fmt.Sprintf("It exists already. Import it: terraform import corral_%s.<name> %s", d.typeName, textOf(attributes[d.key]))
}

// reportCreation: Terraform replaces what failed while it was created. What goes on by itself has not failed.
func reportCreation(diagnostics *diag.Diagnostics, summary string, err error) {
	switch {
	case err == nil:
	case errors.Is(err, api.ErrNotEnded):
		diagnostics.AddWarning(summary, err.Error())
	default:
		addError(diagnostics, nil, summary, err)
	}
}

func (d *declared) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	before := attributesOf(req.State.Raw)
	answer, err := d.client.Do(ctx, api.Request{Method: "GET", Path: d.pathOf(before)})
	if api.HasStatus(err, http.StatusNotFound) {
		// Who has no access to the team gets the same answer, and has lost nothing.
		if _, err := d.client.Do(ctx, api.Request{Method: "GET", Path: d.client.Path("clusters") + "?limit=1"}); api.HasStatus(err, http.StatusNotFound) {
			resp.Diagnostics.AddError(d.title(before)+" cannot be read", fmt.Sprintf("There is no team %s, or the token has no access to it.", d.client.Team))
			return
		}
		resp.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		addError(&resp.Diagnostics, nil, d.title(before)+" cannot be read", err)
		return
	}
	resp.State.Raw = d.stateOf(req.State.Raw.Type(), answer.Body, before)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, "etag", seenIn(answer).tag())...)
}

func (d *declared) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan := attributesOf(req.Plan.Raw)
	config := attributesOf(req.Config.Raw)
	if !needsToken(plan, attributesOf(req.State.Raw)) {
		delete(config, "token")
	}
	seen, err := d.declare(ctx, plan, config, d.matching(ctx, req.Private))
	if seen.body == nil {
		addError(&resp.Diagnostics, d.spec, d.title(plan)+" is not changed", err)
		return
	}
	resp.State.Raw = d.stateOf(req.Plan.Raw.Type(), seen.body, plan)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, "etag", seen.tag())...)
	if err != nil {
		addError(&resp.Diagnostics, d.spec, d.title(plan)+" is changed, and not ready", err)
	}
}

func (d *declared) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	before := attributesOf(req.State.Raw)
	failed := d.title(before) + " is not deleted"
	answer, err := d.client.Do(ctx, api.Request{Method: "DELETE", Path: d.pathOf(before), Header: d.matching(ctx, req.Private)})
	if api.HasStatus(err, http.StatusNotFound) {
		return
	}
	if err != nil {
		addError(&resp.Diagnostics, nil, failed, err)
		return
	}
	if id := answer.OperationID(); id != "" {
		if operation, err := d.client.Await(ctx, id); err != nil || operation.State != "succeeded" {
			if _, found := d.read(ctx, before); api.HasStatus(found, http.StatusNotFound) {
				return
			}
			addError(&resp.Diagnostics, nil, failed, errors.Join(err, failureOf(operation)))
		}
	}
}

type private interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

// matching are the preconditions against lost updates: the resource must be declared as it was when it was read.
func (d *declared) matching(ctx context.Context, kept private) map[string]string {
	var etag string
	stored, _ := kept.GetKey(ctx, "etag")
	if json.Unmarshal(stored, &etag) != nil || etag == "" || !d.hasTags {
		return nil
	}
	return map[string]string{"If-Match": etag}
}

// seen is a resource as the API showed it.
type seen struct {
	body any
	etag string
}

func seenIn(answer api.Answer) seen {
	body := answer.Body
	if resource := member(body, "resource"); resource != nil {
		body = resource
	}
	return seen{body, answer.Header.Get("ETag")}
}

// tag as JSON, which is how Terraform keeps it.
func (s seen) tag() []byte {
	text, _ := json.Marshal(s.etag)
	return text
}

func (d *declared) read(ctx context.Context, attributes values) (seen, error) {
	answer, err := d.client.Do(ctx, api.Request{Method: "GET", Path: d.pathOf(attributes)})
	if err != nil {
		return seen{}, err
	}
	return seenIn(answer), nil
}

// declare sends the declaration and waits for what follows from it. Without a body in the answer, nothing was accepted.
func (d *declared) declare(ctx context.Context, plan, config values, preconditions map[string]string) (seen, error) {
	spec := bodyOf(d.spec, plan)
	for _, each := range d.spec {
		if content := each.toAPI(config[each.Name]); each.WriteOnly && content != nil {
			spec[each.Wire] = content
		}
	}
	request := api.Request{Method: "PUT", Path: d.pathOf(plan), Body: map[string]any{"spec": spec}, Header: preconditions}
	answer, err := d.client.Do(ctx, request)
	accepted, id := seenIn(answer), answer.OperationID()
	if api.HasStatus(err, http.StatusPreconditionFailed) && answer.Unsure {
		// An earlier attempt may have been accepted although its answer was lost. Then the resource is as declared.
		found, readError := d.read(ctx, plan)
		if readError != nil || !covers(member(found.body, "spec"), spec) {
			return seen{}, err
		}
		accepted, id, err = found, memberText(found.body, "status", "lastOperation", "id"), nil
	}
	if err != nil {
		return seen{}, err
	}
	return d.settled(ctx, plan, accepted, id)
}

// settled follows the operation, and the one that took its place, until the resource is at rest.
func (d *declared) settled(ctx context.Context, attributes values, accepted seen, id string) (seen, error) {
	var failure error
	for id != "" {
		operation, err := d.client.Await(ctx, id)
		if err != nil {
			return accepted, err
		}
		found, err := d.read(ctx, attributes)
		if err != nil {
			return accepted, err
		}
		accepted = found
		next := memberText(found.body, "status", "lastOperation", "id")
		if operation.State == "superseded" && next != id {
			id = next
			continue
		}
		failure, id = failureOf(operation), ""
	}
	return accepted, failure
}

func failureOf(operation api.Operation) error {
	if operation.State == "succeeded" || operation.State == "" {
		return nil
	}
	return fmt.Errorf("operation %s %s: %s", operation.ID, operation.State, operation.Message)
}

// covers says whether what was sent is declared. A minor version stands for one of its patch versions, and a token is not shown.
func covers(found, sent any) bool {
	switch sent := sent.(type) {
	case map[string]any:
		object, ok := found.(map[string]any)
		for name, each := range sent {
			if name == "token" {
				continue
			}
			if !ok || !covers(object[name], each) {
				return false
			}
		}
		return true
	case []any:
		list, ok := found.([]any)
		if !ok || len(list) != len(sent) {
			return false
		}
		for at := range sent {
			if !covers(list[at], sent[at]) {
				return false
			}
		}
		return true
	case string:
		text, _ := found.(string)
		return text == sent || isPatchOf(text, sent)
	}
	return reflect.DeepEqual(found, sent)
}

// isPatchOf: 1.34.3 is one of 1.34.
func isPatchOf(version, minor string) bool {
	return strings.Count(minor, ".") == 1 && strings.HasPrefix(version, minor+".")
}

// stateOf makes the state from a body of the API, and from what only Terraform knows.
func (d *declared) stateOf(kind tftypes.Type, body any, before values) tftypes.Value {
	state := values{"id": text(memberText(body, "metadata", "id")), d.key: text(memberText(body, "metadata", d.key))}
	for name := range d.extra {
		state[name] = before[name]
	}
	for _, each := range d.spec {
		state[each.Name] = each.fromAPI(member(body, "spec", each.Wire))
	}
	for _, each := range d.status {
		state[each.Name] = each.fromAPI(member(body, "status", each.Wire))
	}
	keepMinorVersion(state, before)
	return tftypes.NewValue(kind, state)
}

// keepMinorVersion: while the version is one of the minor version that was declared, it is as declared.
func keepMinorVersion(state, declared values) {
	const name = "kubernetes_version"
	if version, found := state[name]; found && isPatchOf(textOf(version), textOf(declared[name])) {
		state[name] = declared[name]
	}
}
