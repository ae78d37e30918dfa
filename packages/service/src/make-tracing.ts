import * as api from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';

type TraceSampler =
  | 'always_on'
  | 'always_off'
  | 'traceidratio'
  | 'parentbased_always_on'
  | 'parentbased_always_off'
  | 'parentbased_traceidratio';

export interface TracingOptions {
  /** `service.name` of all spans. */
  readonly service: string;
  readonly version: string | undefined;
  /** Base address of a receiver of OTLP by HTTP. Without one, this process makes no traces and loads no library for them. */
  readonly endpoint: string | undefined;
  readonly sampler: TraceSampler;
  /** Share of the traces that begin here, from 0 to 1, for the samplers by ratio. */
  readonly ratio: number;
  /** Called when spans could not be sent. They are lost; nothing waits for them. */
  readonly onError: (message: string) => void;
}

/** What makes spans. */
export interface Tracing {
  readonly api: typeof api;
  readonly tracer: api.Tracer;
}

/** The most spans that wait to be sent. What comes beyond that is dropped. */
const WAITING_MAX = 2_048;
/** Spans are sent together, at the latest after this time. */
const COLLECT_MS = 1_000;
const EXPORT_MS_MAX = 10_000;
const ATTRIBUTE_LENGTH_MAX = 1_024;

/** Everything that needs the libraries of OpenTelemetry: only processes that make traces load this file. */
export function makeTracing(
  options: TracingOptions & { readonly endpoint: string },
): Tracing & { readonly provider: TracerProvider } {
  const { service, version, endpoint, onError } = options;
  const report = (message: string) => onError(message);
  const silent = () => undefined;
  const diagnostics = { error: report, warn: report, info: silent, debug: silent, verbose: silent };
  api.diag.setLogger(diagnostics, api.DiagLogLevel.WARN);
  setGlobalErrorHandler((error) => onError(error instanceof Error ? error.message : String(error)));
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    timeoutMillis: EXPORT_MS_MAX,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': service, ...(version ? { 'service.version': version } : {}) }),
    sampler: samplerOf(options),
    spanLimits: { attributeValueLengthLimit: ATTRIBUTE_LENGTH_MAX },
    spanProcessors: [new BatchSpanProcessor({ exporter, maxQueueSize: WAITING_MAX, scheduledDelayMillis: COLLECT_MS })],
  });
  return { api, tracer: provider.getTracer('corral'), provider };
}

function samplerOf({ sampler, ratio }: TracingOptions): Sampler {
  const roots: Readonly<Record<string, () => Sampler>> = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(ratio),
  };
  const [, isParentBased, name = ''] = /^(parentbased_)?(\w+)$/.exec(sampler) ?? [];
  const root = roots[name]?.() ?? new AlwaysOnSampler();
  return isParentBased === undefined ? root : new ParentBasedSampler({ root });
}
