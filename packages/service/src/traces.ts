import type * as Api from '@opentelemetry/api';
import type { Tracing, TracingOptions } from './make-tracing.js';

const HEADER = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const LENGTH_MAX = 512;
const onlyZeros = /^0+$/;

/** The place of a span in a trace. Ids are hexadecimal digits in lower case. */
export interface Traceparent {
  /** 32 digits. */
  readonly traceId: string;
  /** 16 digits. */
  readonly spanId: string;
  /** Bit 0: the sender records the trace. */
  readonly traceFlags: number;
}

/**
 * Reads a `traceparent` header (https://www.w3.org/TR/trace-context/, section 3.2).
 *
 * @param header from Node.js, which joins repeated headers with a comma; they are invalid then
 * @returns null without a valid header
 */
export function parseTraceparent(header: string | readonly string[] | null | undefined): Traceparent | null {
  if (typeof header !== 'string' || header.length > LENGTH_MAX) return null;
  const [, version, traceId, spanId, flags, rest] = HEADER.exec(header) ?? [];
  if (version === undefined || traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (version === 'ff' || onlyZeros.test(traceId) || onlyZeros.test(spanId)) return null;
  // Only later versions may have more parts.
  if (version === '00' && rest !== undefined) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 };
}

/** The header of version 00, 55 characters. */
export const renderTraceparent = ({ traceId, spanId, traceFlags }: Traceparent): string =>
  `00-${traceId}-${spanId}-0${traceFlags & 1}`;

type SpanAttributes = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export interface SpanOptions {
  /** Default: `internal`. */
  readonly kind?: 'server' | 'client' | 'consumer' | 'internal';
  readonly attributes?: SpanAttributes;
  /** The `traceparent` of the span that caused this one, if it is not the current one. Null or invalid: a new trace. */
  readonly parent?: string | null | undefined;
  /** The `traceparent` of other spans that caused this one. */
  readonly links?: readonly string[];
  /** Default: now. */
  readonly startedAt?: Date;
}

/** A span that has not ended. */
export interface OpenSpan {
  readonly traceId: string;
  /** The header that continues the trace in another process or later. */
  readonly traceparent: string;
  rename(name: string): void;
  set(attributes: SpanAttributes): void;
  /** @param reason of few values, such as the name of an error or a status */
  fail(reason: string): void;
  end(): void;
  /** Runs something as a part of this span. */
  run<T>(work: () => T): T;
}

// One for the process, as in the API of OpenTelemetry: a span reaches places between which nothing can be passed.
let tracing: Tracing | null = null;

export const isTracing = (): boolean => tracing !== null;

/** @returns null if this process makes no traces */
export function openSpan(name: string, options: SpanOptions = {}): OpenSpan | null {
  return tracing === null ? null : openIn(tracing, name, options);
}

/**
 * Runs work as a span, which ends with it. A rejection is recorded by the name of its error, whose message may hold what must
 * not leave the process.
 *
 * @param work gets null if this process makes no traces
 */
export async function inSpan<T>(
  name: string,
  options: SpanOptions,
  work: (span: OpenSpan | null) => Promise<T>,
): Promise<T> {
  const span = openSpan(name, options);
  if (span === null) return work(null);
  try {
    return await span.run(() => work(span));
  } catch (error) {
    span.fail(error instanceof Error ? error.name : typeof error);
    throw error;
  } finally {
    span.end();
  }
}

/** The `traceparent` of the current span, for those who continue the trace. Null without one, or if it is not recorded. */
export function currentTraceparent(): string | null {
  const context = tracing?.api.trace.getActiveSpan()?.spanContext();
  return context === undefined || !isRecorded(context) ? null : renderTraceparent(context);
}

const isRecorded = ({ traceFlags }: Api.SpanContext): boolean => (traceFlags & 1) === 1;

function openIn({ api, tracer }: Tracing, name: string, options: SpanOptions): OpenSpan {
  const { kind = 'internal', attributes = {}, parent, links = [], startedAt } = options;
  const remote = (text: string | null): Api.SpanContext[] => {
    const parsed = parseTraceparent(text);
    return parsed === null ? [] : [{ ...parsed, isRemote: true }];
  };
  const [cause] = remote(parent ?? null);
  const root = cause === undefined ? api.ROOT_CONTEXT : api.trace.setSpanContext(api.ROOT_CONTEXT, cause);
  const from = parent === undefined ? api.context.active() : root;
  const span = tracer.startSpan(
    name,
    {
      kind: api.SpanKind[kind.toUpperCase() as keyof typeof Api.SpanKind],
      attributes: defined(attributes),
      links: links.flatMap((text) => remote(text).map((context) => ({ context }))),
      ...(startedAt === undefined ? {} : { startTime: startedAt }),
    },
    from,
  );
  const context = api.trace.setSpan(from, span);
  return {
    traceId: span.spanContext().traceId,
    traceparent: renderTraceparent(span.spanContext()),
    rename: (next) => void span.updateName(next),
    set: (more) => void span.setAttributes(defined(more)),
    fail(reason) {
      span.setAttribute('error.type', reason);
      span.setStatus({ code: api.SpanStatusCode.ERROR });
    },
    end: () => span.end(),
    run: (work) => api.context.with(context, work),
  };
}

const defined = (attributes: SpanAttributes): Api.Attributes =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined)) as Api.Attributes;

/** The receiver gets the last spans within this time, or never. */
const FLUSH_MS_MAX = 3_000;

/**
 * Begins to make traces, if there is a receiver for them. The exporter reads the standard variables `OTEL_EXPORTER_OTLP_HEADERS`,
 * `OTEL_EXPORTER_OTLP_CERTIFICATE` and the like by itself.
 *
 * @returns how to end: sends what waits, within 3 s
 * @see https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */
export async function startTracing(options: TracingOptions): Promise<{ close(): Promise<void> }> {
  const { endpoint, onError } = options;
  if (endpoint === undefined) return { close: async () => undefined };
  const { makeTracing } = await import('./make-tracing.js');
  const { provider, ...made } = makeTracing({ ...options, endpoint });
  tracing = made;
  return {
    async close() {
      tracing = null;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(() => {
          onError(`the receiver did not take the last spans within ${FLUSH_MS_MAX} ms`);
          resolve();
        }, FLUSH_MS_MAX);
      });
      await Promise.race([provider.shutdown().catch((error: Error) => onError(error.message)), late]);
      clearTimeout(timer);
    },
  };
}
