import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { waitFor } from '@corral/testing';

export interface ReceivedSpan {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first span of a trace. */
  readonly parentSpanId: string;
  readonly name: string;
  /** The kind as in OTLP: 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface OtlpReceiver {
  /** The address for `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly endpoint: string;
  /** The headers of all requests. */
  readonly headers: readonly Readonly<Record<string, string | readonly string[] | undefined>>[];
  spansOf(traceId: string): ReceivedSpan[];
  /** Waits until a trace has what is expected. @throws Error with its tree if that does not come */
  trace(traceId: string, isComplete: (spans: readonly ReceivedSpan[]) => boolean): Promise<ReceivedSpan[]>;
  stop(): Promise<void>;
}

interface OtlpValue {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly boolValue?: boolean;
  readonly arrayValue?: { readonly values: readonly OtlpValue[] };
}
interface OtlpAttribute {
  readonly key: string;
  readonly value: OtlpValue;
}
interface OtlpBody {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly OtlpAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}
type OtlpSpan = Omit<ReceivedSpan, 'service' | 'attributes' | 'parentSpanId'> & {
  readonly parentSpanId?: string;
  readonly attributes: readonly OtlpAttribute[];
};

/** Receives traces as a collector does: OTLP by HTTP, in JSON (https://opentelemetry.io/docs/specs/otlp/#otlphttp). */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const headers: OtlpReceiver['headers'][number][] = [];
  const server = createServer((req, res) => {
    headers.push(req.headers);
    void json(req).then((body) => {
      const isTraces = req.method === 'POST' && req.url === '/v1/traces';
      if (isTraces) spans.push(...readSpans(body as OtlpBody));
      res.writeHead(isTraces ? 200 : 404, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const spansOf = (traceId: string) => spans.filter((span) => span.traceId === traceId);
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    headers,
    spansOf,
    trace: (traceId, isComplete) =>
      waitFor('the trace', () => {
        const received = spansOf(traceId);
        if (!isComplete(received)) throw new Error(renderTrace(received));
        return received;
      }),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function readSpans({ resourceSpans }: OtlpBody): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(valuesOf(resource.attributes)['service.name']);
    return scopeSpans.flatMap((scope) =>
      scope.spans.map(({ traceId, spanId, parentSpanId = '', name, kind, attributes }) => ({
        service,
        traceId,
        spanId,
        parentSpanId,
        name,
        kind,
        attributes: valuesOf(attributes),
      })),
    );
  });
}

const valuesOf = (attributes: readonly OtlpAttribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, plainValue(value)]));

const plainValue = ({ stringValue, intValue, boolValue, arrayValue }: OtlpValue): unknown =>
  stringValue ?? boolValue ?? (intValue === undefined ? arrayValue?.values.map(plainValue) : Number(intValue));

/** A trace as an indented list, siblings in the order in which they are given. */
export function renderTrace(spans: readonly ReceivedSpan[]): string {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const below = (parents: readonly ReceivedSpan[], depth: number): string[] =>
    parents.flatMap((span) => [
      `${'  '.repeat(depth)}${span.service}: ${[span.name, span.attributes['url.path']].slice(0, span.kind === 3 ? 2 : 1).join(' ')}`,
      ...below(
        spans.filter(({ parentSpanId }) => parentSpanId === span.spanId),
        depth + 1,
      ),
    ]);
  const roots = spans.filter(({ parentSpanId }) => !ids.has(parentSpanId));
  return below(roots, 0).join('\n');
}
