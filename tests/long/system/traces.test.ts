import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { closedUrl } from '@corral/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { signIn } from '../../support/clusters/client.js';
import { aCluster } from '../../support/clusters/journey.js';
import { type ClusterSystem, startClusterSystem } from '../../support/clusters/start-cluster-system.js';
import {
  type OtlpReceiver,
  type ReceivedSpan,
  renderTrace,
  startOtlpReceiver,
} from '../../support/system/otlp-receiver.js';
import { ZONE } from '../../support/system/system-parts.js';

const [SERVER, CLIENT] = [2, 3];
const HEADERS = 'x-tenant=corral%20a';

let receiver: OtlpReceiver;
let system: ClusterSystem;
let dnsToken: string;
beforeAll(async () => {
  receiver = await startOtlpReceiver();
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: `${receiver.endpoint}/`, OTEL_EXPORTER_OTLP_HEADERS: HEADERS };
  const nowhere = await closedUrl();
  system = await startClusterSystem({
    gateways: 2,
    apiEnv: traced,
    reconcilerEnv: { ...traced, LOG_LEVEL: 'info' },
    gatewayEnv: (index) => (index === 1 ? traced : { OTEL_EXPORTER_OTLP_ENDPOINT: nowhere }),
  });
  const { member } = system.teams[0] as ClusterSystem['teams'][number];
  dnsToken = (await member.insist({ method: 'POST', path: '/dns-tokens/', body: { name: 'traces' } })).json.token;
});
afterAll(async () => {
  await system?.stop();
  await receiver?.stop();
});

/** The lines of the trace in the documentation that begins like this, as patterns. */
function documented(start: string): unknown[] {
  const text = readFileSync(new URL('../../../docs/traces.md', import.meta.url), 'utf8');
  const block = text.split('```').find((part) => part.startsWith(`\n${start}`));
  if (block === undefined) throw new Error(`docs/traces.md has no trace of ${start}`);
  const patternOf = (line: string) =>
    line
      .split('…')
      .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('[^/]+');
  return block
    .trim()
    .split('\n')
    .map((line) => expect.stringMatching(new RegExp(`^${patternOf(line)}$`)));
}

const newTrace = () => {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  return { traceId, spanId, header: `00-${traceId}-${spanId}-01` };
};
const createSet = (gateway: number, name: string, headers: Record<string, string>) =>
  fetch(`${system.gateways[gateway]?.base}/v1/zones/${ZONE}/rrsets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${dnsToken}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ name, type: 'A', records: [{ value: '192.0.2.1' }] }),
  });
const named = (spans: readonly ReceivedSpan[], name: RegExp) => spans.filter((span) => name.test(span.name));
/** Names of spans below one, in the order in which they ended. */
const childrenOf = (spans: readonly ReceivedSpan[], parent: ReceivedSpan | undefined) =>
  spans.filter(({ parentSpanId }) => parentSpanId === parent?.spanId).map(({ name }) => name);

it('a DNS write is one trace, from the client to the call at the upstream', async () => {
  const trace = newTrace();

  const created = await createSet(0, 'www.acme', { traceparent: trace.header });

  expect(created.status).toBe(201);
  const spans = await receiver.trace(trace.traceId, (received) => named(received, /rrsets/).length > 0);
  const [request] = named(spans, /rrsets/);
  expect(request).toMatchObject({
    service: 'dns-gateway',
    name: 'POST /zones/{zone}/rrsets',
    kind: SERVER,
    parentSpanId: trace.spanId,
    attributes: { 'http.response.status_code': 201, 'corral.request_id': created.headers.get('x-correlation-id') },
  });
  expect(childrenOf(spans, request)).toEqual(['wait for the upstream budget', 'POST']);
  expect(renderTrace(spans).split('\n')).toEqual(expect.arrayContaining(documented('dns-gateway: POST')));
  const [call] = spans.filter(({ kind }) => kind === CLIENT);
  expect(call?.attributes).toMatchObject({ 'server.address': '127.0.0.1', 'http.response.status_code': 201 });
  expect(receiver.headers.every((headers) => headers['x-tenant'] === 'corral a')).toBe(true);
  expect(JSON.stringify(spans)).not.toContain(dnsToken);
});

it('a change of a cluster is one trace, over the queue and the passes to the calls at the garden', async () => {
  const trace = newTrace();
  const cookie = await signIn(system.apis[0]?.base as string, 'member@acme.test');

  const declared = await fetch(`${system.apis[0]?.base}/api/v1/teams/acme/clusters/web/`, {
    method: 'PUT',
    headers: { cookie, 'content-type': 'application/json', traceparent: trace.header },
    body: JSON.stringify(aCluster(system)),
  });

  expect(declared.status).toBe(202);
  const callsIn = (received: readonly ReceivedSpan[]) =>
    received.filter(({ kind, service }) => kind === CLIENT && service === 'reconciler');
  // A call arrives before the pass that makes it, which ends later.
  const spans = await receiver.trace(trace.traceId, (received) => {
    const passes = new Set(named(received, /^reconcile/).map(({ spanId }) => spanId));
    const isWhole = callsIn(received).every(({ parentSpanId }) => passes.has(parentSpanId));
    const isApplied = /PATCH .*\/shoots\//.test(renderTrace(received));
    return isApplied && isWhole && named(received, /clusters/).length > 0;
  });
  expect(renderTrace(spans).split('\n')).toEqual(expect.arrayContaining(documented('cluster-api: PUT')));
  const [request] = named(spans, /clusters/);
  expect(request).toMatchObject({ service: 'cluster-api', kind: SERVER, parentSpanId: trace.spanId });
  expect(childrenOf(spans, request)).toEqual(expect.arrayContaining(['wait in the queue', 'reconcile cluster']));
  expect(callsIn(spans).length).toBeGreaterThan(3);
  expect(system.reconcilers[0]?.output()).toContain(`"traceId":"${trace.traceId}"`);
});

it('a request of a client without a trace begins one, whose id is that of the request', async () => {
  const created = await createSet(0, 'new.acme', { traceparent: '00-not-a-trace-01' });

  const requestId = created.headers.get('x-correlation-id') as string;
  const spans = await receiver.trace(requestId.replaceAll('-', ''), (received) => named(received, /rrsets/).length > 0);
  expect(named(spans, /rrsets/)).toMatchObject([{ parentSpanId: '' }]);
});

it('a client that does not record its trace gets none', async () => {
  const trace = newTrace();
  const later = newTrace();

  await createSet(0, 'silent.acme', { traceparent: trace.header.replace(/01$/, '00') });
  await createSet(0, 'heard.acme', { traceparent: later.header });

  await receiver.trace(later.traceId, (received) => named(received, /rrsets/).length > 0);
  expect(receiver.spansOf(trace.traceId)).toEqual([]);
});

it('a receiver that is away delays nothing and is reported', async () => {
  const gateway = system.gateways[1];

  expect((await createSet(1, 'without.acme', {})).status).toBe(201);

  const ended = await gateway?.stop();
  expect(ended).toEqual({ code: 0, signal: null });
  expect(gateway?.output()).toContain('traces not sent');
});
