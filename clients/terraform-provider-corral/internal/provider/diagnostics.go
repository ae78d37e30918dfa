// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"corral.dev/terraform-provider-corral/internal/api"
)

// pathOf finds the attribute that a JSON pointer into a body means, as far as there is one. The path is empty for the body as a whole.
func pathOf(members []model, pointer string) path.Path {
	at := path.Empty()
	var element *model
	for _, step := range strings.Split(strings.TrimPrefix(strings.TrimPrefix(pointer, "/spec"), "/"), "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		if element != nil {
			index, err := strconv.Atoi(step)
			if err != nil {
				return at
			}
			at, members, element = at.AtListIndex(index), element.Members, nil
			continue
		}
		found := false
		for _, each := range members {
			if each.Wire == step {
				at, members, element, found = at.AtName(each.Name), each.Members, each.Element, true
				break
			}
		}
		if !found {
			return at
		}
	}
	return at
}

// addError reports a refusal at the attributes that it names, or any other error.
func addError(diagnostics *diag.Diagnostics, members []model, summary string, err error) {
	problem := api.AsProblem(err)
	if problem == nil {
		diagnostics.AddError(summary, err.Error())
		return
	}
	if len(problem.Errors) == 0 {
		diagnostics.AddError(summary, problem.Error())
		return
	}
	for _, each := range problem.Errors {
		addAt(diagnostics, diag.SeverityError, pathOf(members, each.Pointer), summary, refusalText(each, problem))
	}
}

func refusalText(refusal api.Refusal, problem *api.Problem) string {
	return fmt.Sprintf("%s (%s, %s)", refusal.Detail, refusal.Code, problem.Instance)
}

func addAt(diagnostics *diag.Diagnostics, severity diag.Severity, at path.Path, summary, detail string) {
	isWhole := len(at.Steps()) == 0
	if !isWhole {
		// Terraform shows the line of an attribute of the resource. With a path into it, only that of the resource.
		at = path.Root(at.Steps()[0].String())
	}
	switch {
	case severity == diag.SeverityError && isWhole:
		diagnostics.AddError(summary, detail)
	case severity == diag.SeverityError:
		diagnostics.AddAttributeError(at, summary, detail)
	case isWhole:
		diagnostics.AddWarning(summary, detail)
	default:
		diagnostics.AddAttributeWarning(at, summary, detail)
	}
}
