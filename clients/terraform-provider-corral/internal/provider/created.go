// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"corral.dev/terraform-provider-corral/internal/api"
)

// created is a resource that the API gives an id, or that others have created.
type created struct {
	client      *api.Client
	typeName    string
	noun        string
	description string
	attributes  map[string]schema.Attribute
	calls
}

// calls are what a resource does. Each gets the attributes of plan or state, and returns them as they are then.
type calls struct {
	// create also returns what was created when it failed later.
	create func(ctx context.Context, client *api.Client, plan values) (values, error)
	// find returns nil when it is gone.
	find func(ctx context.Context, client *api.Client, state values) (values, error)
	// change is nil when Terraform alone knows what can change.
	change func(ctx context.Context, client *api.Client, plan values) (values, error)
	remove func(ctx context.Context, client *api.Client, state values) error
	// imported finds the attributes in the id of an import. It is nil when there is no import.
	imported func(id string) (values, error)
}

var (
	_ resource.ResourceWithConfigure   = (*created)(nil)
	_ resource.ResourceWithImportState = (*created)(nil)
)

func (c *created) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + c.typeName
}

func (c *created) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	c.client, _ = req.ProviderData.(*api.Client)
}

func (c *created) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{MarkdownDescription: c.description, Attributes: c.attributes}
}

func (c *created) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	state, err := c.create(ctx, c.client, attributesOf(req.Plan.Raw))
	if state == nil {
		addError(&resp.Diagnostics, nil, c.noun+" is not created", err)
		return
	}
	resp.State.Raw = tftypes.NewValue(req.Plan.Raw.Type(), state)
	reportCreation(&resp.Diagnostics, c.noun+" is not ready", err)
}

func (c *created) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state, err := c.find(ctx, c.client, attributesOf(req.State.Raw))
	switch {
	case err != nil:
		addError(&resp.Diagnostics, nil, c.noun+" cannot be read", err)
	case state == nil:
		resp.State.RemoveResource(ctx)
	default:
		resp.State.Raw = tftypes.NewValue(req.State.Raw.Type(), state)
	}
}

func (c *created) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan, before := attributesOf(req.Plan.Raw), attributesOf(req.State.Raw)
	for name, each := range plan {
		plan[name] = filled(each, before[name])
	}
	if c.change != nil {
		changed, err := c.change(ctx, c.client, plan)
		if err != nil {
			addError(&resp.Diagnostics, nil, c.noun+" is not changed", err)
			return
		}
		plan = changed
	}
	resp.State.Raw = tftypes.NewValue(req.Plan.Raw.Type(), plan)
}

func (c *created) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	if err := c.remove(ctx, c.client, attributesOf(req.State.Raw)); err != nil && !api.HasStatus(err, http.StatusNotFound) {
		addError(&resp.Diagnostics, nil, c.noun+" is not deleted", err)
	}
}

func (c *created) ImportState(_ context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	if c.imported == nil {
		resp.Diagnostics.AddError(c.noun+" cannot be imported", "Corral shows it only once. Create another one.")
		return
	}
	known, err := c.imported(req.ID)
	if err != nil {
		resp.Diagnostics.AddError(c.noun+" cannot be imported", err.Error())
		return
	}
	state := attributesOf(resp.State.Raw)
	if len(state) == 0 {
		object, _ := resp.State.Raw.Type().(tftypes.Object)
		for name, kind := range object.AttributeTypes {
			state[name] = tftypes.NewValue(kind, nil)
		}
	}
	for name, each := range known {
		state[name] = each
	}
	resp.State.Raw = tftypes.NewValue(resp.State.Raw.Type(), state)
}

// with returns attributes in which those that a body of the API has are as there.
func with(attributes values, members []model, body any) values {
	all := values{}
	for name, each := range attributes {
		all[name] = each
	}
	for _, each := range members {
		all[each.Name] = each.fromAPI(member(body, each.Wire))
	}
	return all
}

func key() map[string]string { return map[string]string{"Idempotency-Key": rand.Text()} }

// gone is not an error for what is only looked for.
func gone(err error) error {
	if api.HasStatus(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// ended waits for the operation of an answer, and returns an error unless it succeeded.
func ended(ctx context.Context, client *api.Client, answer api.Answer) error {
	id := answer.OperationID()
	if id == "" {
		return nil
	}
	operation, err := client.Await(ctx, id)
	return errors.Join(err, failureOf(operation))
}
