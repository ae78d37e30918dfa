// SPDX-License-Identifier: Apache-2.0

package provider

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	datasource "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

//go:embed models.json
var modelsText []byte

// model is an attribute, as the OpenAPI document of the cluster API describes it.
type model struct {
	Name        string  `json:"name"`
	Wire        string  `json:"wire"`
	Kind        string  `json:"kind"`
	Description string  `json:"description"`
	Required    bool    `json:"required"`
	Fixed       bool    `json:"fixed"`
	WriteOnly   bool    `json:"writeOnly"`
	Loose       bool    `json:"loose"`
	Default     any     `json:"default"`
	Members     []model `json:"members"`
	Element     *model  `json:"element"`
}

var models = func() map[string][]model {
	var document struct {
		Models map[string][]model `json:"models"`
	}
	if err := json.Unmarshal(modelsText, &document); err != nil {
		panic(err)
	}
	return document.Models
}()

// access says who sets an attribute.
type access struct{ required, optional, computed, writeOnly bool }

// observed: only the service sets it.
var observed = access{computed: true}

// declared: people set it; what they leave out, the service chooses.
func (m model) declared() access {
	return access{required: m.Required, optional: !m.Required, computed: !m.Required && !m.WriteOnly, writeOnly: m.WriteOnly}
}

// attributesFor returns the attributes of a resource.
func attributesFor(declared, computed []model) map[string]schema.Attribute {
	attributes := map[string]schema.Attribute{}
	for _, each := range declared {
		attributes[each.Name] = each.resourceAttribute(each.declared())
	}
	for _, each := range computed {
		attributes[each.Name] = each.resourceAttribute(observed)
	}
	return attributes
}

func (m model) resourceAttribute(is access) schema.Attribute {
	text := m.Description
	switch m.Kind {
	case "string":
		attribute := schema.StringAttribute{MarkdownDescription: text, Required: is.required, Optional: is.optional, Computed: is.computed, WriteOnly: is.writeOnly, Sensitive: is.writeOnly}
		if initial, ok := m.Default.(string); ok && is.optional {
			attribute.Default = stringdefault.StaticString(initial)
		}
		if m.Fixed {
			attribute.PlanModifiers = []planmodifier.String{stringplanmodifier.RequiresReplace()}
		}
		return attribute
	case "integer":
		attribute := schema.Int64Attribute{MarkdownDescription: text, Required: is.required, Optional: is.optional, Computed: is.computed}
		if initial, ok := m.Default.(float64); ok && is.optional {
			attribute.Default = int64default.StaticInt64(int64(initial))
		}
		if m.Fixed {
			attribute.PlanModifiers = []planmodifier.Int64{int64planmodifier.RequiresReplace()}
		}
		return attribute
	case "number":
		return schema.Float64Attribute{MarkdownDescription: text, Required: is.required, Optional: is.optional, Computed: is.computed}
	case "boolean":
		attribute := schema.BoolAttribute{MarkdownDescription: text, Required: is.required, Optional: is.optional, Computed: is.computed}
		if initial, ok := m.Default.(bool); ok && is.optional {
			attribute.Default = booldefault.StaticBool(initial)
		}
		return attribute
	case "map":
		return schema.MapAttribute{MarkdownDescription: text, ElementType: types.StringType, Required: is.required, Optional: is.optional, Computed: is.computed}
	case "set":
		return schema.SetAttribute{MarkdownDescription: text, ElementType: m.Element.attrType(), Required: is.required, Optional: is.optional, Computed: is.computed}
	case "list":
		if m.Element.Kind != "object" {
			return schema.ListAttribute{MarkdownDescription: text, ElementType: m.Element.attrType(), Required: is.required, Optional: is.optional, Computed: is.computed}
		}
		nested := schema.NestedAttributeObject{Attributes: membersFor(m.Element.Members, is)}
		return schema.ListNestedAttribute{MarkdownDescription: text, NestedObject: nested, Required: is.required, Optional: is.optional, Computed: is.computed}
	case "object":
		return schema.SingleNestedAttribute{MarkdownDescription: text, Attributes: membersFor(m.Members, is), Required: is.required, Optional: is.optional, Computed: is.computed}
	}
	panic(fmt.Sprintf("%s is of the unknown kind %s", m.Name, m.Kind))
}

func membersFor(members []model, is access) map[string]schema.Attribute {
	if is == observed {
		return attributesFor(nil, members)
	}
	return attributesFor(members, nil)
}

// dataAttributes returns the attributes of a data source.
func dataAttributes(members []model) map[string]datasource.Attribute {
	attributes := map[string]datasource.Attribute{}
	for _, each := range members {
		attributes[each.Name] = each.dataAttribute()
	}
	return attributes
}

func (m model) dataAttribute() datasource.Attribute {
	text := m.Description
	switch m.Kind {
	case "object":
		return datasource.SingleNestedAttribute{MarkdownDescription: text, Computed: true, Attributes: dataAttributes(m.Members)}
	case "list":
		if m.Element.Kind == "object" {
			nested := datasource.NestedAttributeObject{Attributes: dataAttributes(m.Element.Members)}
			return datasource.ListNestedAttribute{MarkdownDescription: text, Computed: true, NestedObject: nested}
		}
		return datasource.ListAttribute{MarkdownDescription: text, Computed: true, ElementType: m.Element.attrType()}
	case "set":
		return datasource.SetAttribute{MarkdownDescription: text, Computed: true, ElementType: m.Element.attrType()}
	case "map":
		return datasource.MapAttribute{MarkdownDescription: text, Computed: true, ElementType: types.StringType}
	case "string":
		return datasource.StringAttribute{MarkdownDescription: text, Computed: true}
	case "integer":
		return datasource.Int64Attribute{MarkdownDescription: text, Computed: true}
	case "number":
		return datasource.Float64Attribute{MarkdownDescription: text, Computed: true}
	case "boolean":
		return datasource.BoolAttribute{MarkdownDescription: text, Computed: true}
	}
	panic(fmt.Sprintf("%s is of the unknown kind %s", m.Name, m.Kind))
}

// attrType is for the elements of lists and sets.
func (m model) attrType() attr.Type {
	switch m.Kind {
	case "integer":
		return types.Int64Type
	case "number":
		return types.Float64Type
	case "boolean":
		return types.BoolType
	default:
		return types.StringType
	}
}
