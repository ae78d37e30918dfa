// Package slogor takes the place of the module of this name, which some proxies refuse. lego colours the lines of its log with it,
// and uses it for nothing else.
package slogor

import (
	"io"
	"log/slog"
)

type OptionFn func(*slog.HandlerOptions)

func SetLevel(level slog.Leveler) OptionFn {
	return func(options *slog.HandlerOptions) { options.Level = level }
}

func SetTimeFormat(string) OptionFn { return func(*slog.HandlerOptions) {} }

func DisableColor() OptionFn { return func(*slog.HandlerOptions) {} }

func NewHandler(out io.Writer, options ...OptionFn) slog.Handler {
	all := &slog.HandlerOptions{}
	for _, option := range options {
		option(all)
	}
	return slog.NewTextHandler(out, all)
}
