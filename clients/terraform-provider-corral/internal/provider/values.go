// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// values are the attributes of an object.
type values = map[string]tftypes.Value

// tfType is the type of an attribute in plan and state.
func (m model) tfType() tftypes.Type {
	switch m.Kind {
	case "string":
		return tftypes.String
	case "integer", "number":
		return tftypes.Number
	case "boolean":
		return tftypes.Bool
	case "map":
		return tftypes.Map{ElementType: tftypes.String}
	case "list":
		return tftypes.List{ElementType: m.Element.tfType()}
	case "set":
		return tftypes.Set{ElementType: m.Element.tfType()}
	}
	attributes := map[string]tftypes.Type{}
	for _, each := range m.Members {
		attributes[each.Name] = each.tfType()
	}
	return tftypes.Object{AttributeTypes: attributes}
}

// fromAPI makes the value of an attribute from a body of the API. What is absent is null.
func (m model) fromAPI(body any) tftypes.Value {
	kind := m.tfType()
	if body == nil {
		return tftypes.NewValue(kind, nil)
	}
	switch found := body.(type) {
	case map[string]any:
		content := values{}
		if m.Kind == "map" {
			for key, each := range found {
				content[key] = text(fmt.Sprint(each))
			}
		} else {
			for _, each := range m.Members {
				content[each.Name] = each.fromAPI(found[each.Wire])
			}
		}
		return tftypes.NewValue(kind, content)
	case []any:
		content := []tftypes.Value{}
		for _, each := range found {
			content = append(content, m.Element.fromAPI(each))
		}
		return tftypes.NewValue(kind, content)
	case json.Number:
		number, _, err := big.ParseFloat(found.String(), 10, 512, big.ToNearestEven)
		if err != nil {
			return tftypes.NewValue(kind, nil)
		}
		return tftypes.NewValue(kind, number)
	}
	return tftypes.NewValue(kind, body)
}

// toAPI makes the member of a body from an attribute. What is null or not known yet is nil, which means: leave it out.
func (m model) toAPI(value tftypes.Value) any {
	if value.IsNull() || !value.IsKnown() {
		return nil
	}
	switch m.Kind {
	case "object":
		return bodyOf(m.Members, attributesOf(value))
	case "list", "set":
		elements := []any{}
		for _, each := range elementsOf(value) {
			elements = append(elements, m.Element.toAPI(each))
		}
		return elements
	case "map":
		members := map[string]any{}
		for key, each := range attributesOf(value) {
			members[key] = textOf(each)
			if m.Loose {
				members[key] = literal(key, textOf(each))
			}
		}
		return members
	case "boolean":
		var is bool
		_ = value.As(&is)
		return is
	case "integer", "number":
		number := new(big.Float)
		_ = value.As(&number)
		return json.Number(number.Text('f', -1))
	}
	return textOf(value)
}

// literal finds numbers and booleans, which are texts in Terraform. A name or a version is never one.
func literal(key, text string) any {
	if key == "name" || key == "version" {
		return text
	}
	if text == "true" || text == "false" {
		return text == "true"
	}
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return json.Number(text)
	}
	return text
}

func bodyOf(members []model, attributes values) map[string]any {
	body := map[string]any{}
	for _, each := range members {
		value, found := attributes[each.Name]
		if !found {
			continue
		}
		if content := each.toAPI(value); content != nil {
			body[each.Wire] = content
		}
	}
	return body
}

// attributesOf returns those of an object or a map, to be changed; none if it is null or not known.
func attributesOf(value tftypes.Value) values {
	shared := values{}
	if value.IsKnown() && !value.IsNull() {
		_ = value.As(&shared)
	}
	return maps.Clone(shared)
}

func elementsOf(value tftypes.Value) []tftypes.Value {
	var elements []tftypes.Value
	if value.IsKnown() && !value.IsNull() {
		_ = value.As(&elements)
	}
	return slices.Clone(elements)
}

func text(value string) tftypes.Value { return tftypes.NewValue(tftypes.String, value) }

// textOf is "" for what is null or not known.
func textOf(value tftypes.Value) string {
	var found string
	if value.IsKnown() && !value.IsNull() {
		_ = value.As(&found)
	}
	return found
}

func unknown(of tftypes.Value) tftypes.Value {
	return tftypes.NewValue(of.Type(), tftypes.UnknownValue)
}

// filled replaces what is not known by what another value has at the same place. Elements of lists are the same if they have the same name.
func filled(value, from tftypes.Value) tftypes.Value {
	if from.IsNull() && !value.IsKnown() {
		return tftypes.NewValue(value.Type(), nil)
	}
	if !value.IsKnown() {
		return from
	}
	if value.IsFullyKnown() || value.IsNull() || !from.IsKnown() || from.IsNull() {
		return value
	}
	switch {
	case value.Type().Is(tftypes.Object{}):
		attributes, others := attributesOf(value), attributesOf(from)
		for name, each := range attributes {
			if other, found := others[name]; found {
				attributes[name] = filled(each, other)
			}
		}
		return tftypes.NewValue(value.Type(), attributes)
	case value.Type().Is(tftypes.List{}):
		elements := elementsOf(value)
		for at, each := range elements {
			for _, other := range elementsOf(from) {
				if name := textOf(attributesOf(each)["name"]); name != "" && name == textOf(attributesOf(other)["name"]) {
					elements[at] = filled(each, other)
				}
			}
		}
		return tftypes.NewValue(value.Type(), elements)
	}
	return value
}

// member follows names through a body of the API.
func member(body any, names ...string) any {
	for _, name := range names {
		object, _ := body.(map[string]any)
		body = object[name]
	}
	return body
}

func memberText(body any, names ...string) string {
	found, _ := member(body, names...).(string)
	return found
}
