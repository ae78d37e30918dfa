// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/url"
	"strconv"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"corral.dev/terraform-provider-corral/internal/api"
)

const forPeople = " It needs the `session` of an administrator: service accounts do not manage access."

// fixedText is an attribute whose change replaces the resource.
func fixedText(description string) schema.Attribute {
	return schema.StringAttribute{Required: true, MarkdownDescription: description, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}}
}

// kept is an attribute that the service sets once.
func kept(description string, isSecret bool) schema.Attribute {
	return schema.StringAttribute{Computed: true, Sensitive: isSecret, MarkdownDescription: description, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}}
}

func fixedNumber(description string) schema.Attribute {
	return schema.Int64Attribute{Required: true, MarkdownDescription: description, PlanModifiers: []planmodifier.Int64{int64planmodifier.RequiresReplace()}}
}

func merged(attributes map[string]schema.Attribute, more map[string]schema.Attribute) map[string]schema.Attribute {
	for name, each := range more {
		attributes[name] = each
	}
	return attributes
}

func wholeNumber(value tftypes.Value) int64 {
	number := new(big.Float)
	if value.IsKnown() && !value.IsNull() {
		_ = value.As(&number)
	}
	whole, _ := number.Int64()
	return whole
}

func newAccountToken() resource.Resource {
	return &created{
		typeName: "service_account_token",
		noun:     "The token",
		description: "A token of a service account. Corral shows it once, so it is in the state, as a sensitive value: protect the state, or let " +
			"pipelines exchange tokens of a `corral_trusted_issuer`, which stores nothing. An account has at most two." + forPeople,
		attributes: map[string]schema.Attribute{
			"account":         fixedText("Name of the service account. A change creates another token."),
			"expires_in_days": fixedNumber("Days until it expires, at most 365. A change creates another token."),
			"id":              kept("Id of the token.", false),
			"token":           kept("The token.", true),
			"expires_at":      kept("When it expires. A plan after that creates another one.", false),
		},
		calls: calls{
			create: func(ctx context.Context, client *api.Client, plan values) (values, error) {
				path := client.Path("service-accounts", textOf(plan["account"]), "tokens")
				body := map[string]any{"expiresInDays": wholeNumber(plan["expires_in_days"])}
				answer, err := client.Do(ctx, api.Request{Method: "POST", Path: path, Body: body, Once: true})
				if err != nil {
					return nil, err
				}
				plan["id"], plan["token"] = text(memberText(answer.Body, "id")), text(memberText(answer.Body, "token"))
				plan["expires_at"] = text(memberText(answer.Body, "expiresAt"))
				return plan, nil
			},
			find: func(ctx context.Context, client *api.Client, state values) (values, error) {
				answer, err := client.Do(ctx, api.Request{Method: "GET", Path: client.Path("service-accounts", textOf(state["account"]), "tokens")})
				if err != nil {
					return nil, gone(err)
				}
				tokens, _ := member(answer.Body, "items").([]any)
				for _, each := range tokens {
					if memberText(each, "id") == textOf(state["id"]) && member(each, "revokedAt") == nil && !isOver(memberText(each, "expiresAt")) {
						return state, nil
					}
				}
				return nil, nil
			},
			remove: func(ctx context.Context, client *api.Client, state values) error {
				path := client.Path("service-accounts", textOf(state["account"]), "tokens", textOf(state["id"]))
				_, err := client.Do(ctx, api.Request{Method: "DELETE", Path: path})
				return err
			},
		},
	}
}

func isOver(at string) bool {
	end, err := time.Parse(time.RFC3339, at)
	return err == nil && time.Now().After(end)
}

func newInvitation() resource.Resource {
	shown := append(append([]model{}, models["invitationSpec"]...), models["invitationStatus"]...)
	return &created{
		typeName: "invitation",
		noun:     "The invitation",
		description: "An invitation to the team, by mail. When it was accepted or has expired it stays in the state, so that nobody is invited twice; " +
			"the person is then a `corral_member`." + forPeople,
		attributes: merged(attributesFor(models["invitationSpec"], nil), map[string]schema.Attribute{
			"id":         kept("Id of the invitation.", false),
			"invited_by": kept("Address of the inviter.", false),
			"created_at": kept("When it was sent.", false),
			"expires_at": kept("Until when it can be accepted.", false),
		}),
		calls: calls{
			create: func(ctx context.Context, client *api.Client, plan values) (values, error) {
				body := bodyOf(models["invitationSpec"], plan)
				answer, err := client.Do(ctx, api.Request{Method: "POST", Path: client.PeoplePath("invitations"), Body: body, Header: key()})
				if err != nil {
					return nil, err
				}
				plan["id"] = text(memberText(answer.Body, "id"))
				found, err := findInvitation(ctx, client, textOf(plan["id"]))
				return with(plan, models["invitationStatus"], found), err
			},
			find: func(ctx context.Context, client *api.Client, state values) (values, error) {
				found, err := findInvitation(ctx, client, textOf(state["id"]))
				if err != nil || found == nil {
					return state, err
				}
				return with(state, shown, found), nil
			},
			remove: func(ctx context.Context, client *api.Client, state values) error {
				_, err := client.Do(ctx, api.Request{Method: "DELETE", Path: client.PeoplePath("invitations", textOf(state["id"]))})
				return err
			},
			imported: func(id string) (values, error) { return values{"id": text(id)}, nil },
		},
	}
}

func findInvitation(ctx context.Context, client *api.Client, id string) (any, error) {
	query := url.Values{"limit": {"200"}}
	for {
		answer, err := client.Do(ctx, api.Request{Method: "GET", Path: client.PeoplePath("invitations") + "?" + query.Encode()})
		if err != nil {
			return nil, err
		}
		items, _ := member(answer.Body, "items").([]any)
		for _, each := range items {
			if memberText(each, "id") == id {
				return each, nil
			}
		}
		next := memberText(answer.Body, "next")
		if next == "" {
			return nil, nil
		}
		query.Set("cursor", next)
	}
}

func newMember() resource.Resource {
	status := models["memberStatus"]
	shown := append(append([]model{}, models["memberSpec"]...), status...)
	path := func(client *api.Client, state values) string {
		return client.PeoplePath("members", strconv.FormatInt(wholeNumber(state["member_id"]), 10))
	}
	put := func(ctx context.Context, client *api.Client, plan values) (values, error) {
		answer, err := client.Do(ctx, api.Request{Method: "PUT", Path: path(client, plan), Body: bodyOf(models["memberSpec"], plan)})
		if err != nil {
			return nil, err
		}
		return with(plan, shown, answer.Body), nil
	}
	return &created{
		typeName: "member",
		noun:     "The member",
		description: "A person in the team and their role. People join by a `corral_invitation`. The deletion removes the person from the team, and " +
			"revokes their DNS tokens." + forPeople,
		attributes: merged(attributesFor(models["memberSpec"], status), map[string]schema.Attribute{
			"member_id": fixedNumber("Number of the membership, as `corral people list` shows it."),
		}),
		calls: calls{
			create: put,
			change: put,
			find: func(ctx context.Context, client *api.Client, state values) (values, error) {
				answer, err := client.Do(ctx, api.Request{Method: "GET", Path: path(client, state)})
				if err != nil {
					return nil, gone(err)
				}
				return with(state, shown, answer.Body), nil
			},
			remove: func(ctx context.Context, client *api.Client, state values) error {
				_, err := client.Do(ctx, api.Request{Method: "DELETE", Path: path(client, state)})
				return err
			},
			imported: func(id string) (values, error) {
				if _, err := strconv.ParseInt(id, 10, 32); err != nil {
					return nil, fmt.Errorf("%s is no number of a membership", id)
				}
				return values{"member_id": model{Kind: "integer"}.fromAPI(json.Number(id))}, nil
			},
		},
	}
}
