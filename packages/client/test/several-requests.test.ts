import { describe, expect, it } from '@jest/globals';
import { createClient, createDnsClient } from '../src/index.js';
import {
  answer,
  type Behaviour,
  hangUp,
  headerOf,
  linesOfRequests,
  problem,
  startRudeServer,
  stream,
} from './support/rude-server.js';

const server = await startRudeServer();
let pauses: number[] = [];
const options = { credentials: { bearer: 'secret' }, pause: async (ms: number) => void pauses.push(ms) } as const;
const corral = createClient({ ...options, baseUrl: server.url });
const dns = createDnsClient({ ...options, baseUrl: `${server.url}/v1` });

const play = (...behaviours: Behaviour[]): void => {
  pauses = [];
  server.script(...behaviours);
};
const clusters = (names: string[], next: string | null) =>
  answer('200 OK', { items: names.map((name) => ({ metadata: { name } })), next });
const team = { team: 'acme' };

describe('a list', () => {
  it('is read page by page, as far as it is wanted', async () => {
    play(clusters(['a', 'b'], 'c1'), clusters([], 'c2'), clusters(['c'], 'c3'), clusters(['d'], null));
    const names: string[] = [];
    for await (const { metadata } of corral.list('listClusters', team, { query: { phase: ['Ready'] } })) {
      names.push(metadata.name);
      if (names.length === 3) break;
    }

    expect(names).toEqual(['a', 'b', 'c']);
    expect(linesOfRequests(server)).toEqual([
      'GET /api/v1/teams/acme/clusters/?limit=200&phase=Ready',
      'GET /api/v1/teams/acme/clusters/?limit=200&phase=Ready&cursor=c1',
      'GET /api/v1/teams/acme/clusters/?limit=200&phase=Ready&cursor=c2',
    ]);
  });

  it('without pages is one request without a limit', async () => {
    play(answer('200 OK', [{ items: [{ metadata: { ref: 'main' } }] }]));

    expect(await corral.listAll('listConnections', team)).toEqual([{ metadata: { ref: 'main' } }]);
    expect(linesOfRequests(server)).toEqual(['GET /api/v1/teams/acme/connections/']);
  });

  it('that never ends is an error', async () => {
    play(clusters(['a'], 'c1'), clusters(['a'], 'c1'));

    await expect(corral.listAll('listClusters', team)).rejects.toMatchObject({ code: 'unreadable' });
    expect(server.requests).toHaveLength(2);
  });

  it('of the DNS API is read by number', async () => {
    const page = (id: string, next_page: number | null) =>
      answer('200 OK', { rrsets: [{ id }], meta: { pagination: { next_page } } });
    play(page('a/A', 2), page('b/A', null));

    expect(await dns.listAll('listRrsets', { zone: 'example.test' })).toEqual([{ id: 'a/A' }, { id: 'b/A' }]);
    expect(linesOfRequests(server)).toEqual([
      'GET /v1/zones/example.test/rrsets?per_page=50&page=1',
      'GET /v1/zones/example.test/rrsets?per_page=50&page=2',
    ]);
  });
});

describe('an answer of many lines', () => {
  it('is read while it arrives', async () => {
    play(stream('{"id":"1"}\n{"id"', ':"2"}\n\n', '{"id":"3"}\n'));
    const ids: string[] = [];
    for await (const { id } of corral.lines('exportAudit', team, { query: { kind: 'cluster' } })) {
      ids.push(id);
      if (ids.length === 3) break;
    }

    expect(ids).toEqual(['1', '2', '3']);
    expect(linesOfRequests(server)).toEqual(['GET /api/v1/teams/acme/audit/export/?kind=cluster']);
    expect(headerOf(server.requests[0], 'Accept')).toBe('application/x-ndjson');
  });
});

describe('waiting for an operation', () => {
  const ref = { team: 'acme', id: '0197b2f0-0000-7000-8000-000000000001' };
  const operation = (state: string, progress: number, headers: string[] = []) =>
    answer('200 OK', { id: ref.id, state, progress }, headers);

  it('asks the API to hold its answer, and polls where it does not', async () => {
    play(
      operation('queued', 0),
      operation('running', 10, ['Retry-After: 4']),
      operation('running', 10, ['Retry-After: 4', 'Preference-Applied: wait=3']),
      operation('running', 10),
      operation('succeeded', 100),
    );
    const seen: number[] = [];
    const url = `https://elsewhere.example/api/v1/teams/acme/operations/${ref.id}/`;
    const ended = await corral.waitForOperation(url, { onProgress: ({ progress }) => seen.push(progress) });

    expect(ended).toMatchObject({ state: 'succeeded', progress: 100 });
    expect(seen).toEqual([0, 10, 100]);
    expect(new Set(linesOfRequests(server))).toEqual(new Set([`GET /api/v1/teams/acme/operations/${ref.id}/`]));
    expect(headerOf(server.requests[0], 'Prefer')).toMatch(/^wait=\d+$/);
    expect(pauses).toHaveLength(3);
    expect(pauses[0]).toBeGreaterThanOrEqual(750);
    expect(pauses[1]).toBe(4_000);
  });

  it.each(['failed', 'superseded', 'cancelled'])('ends when the operation has %s', async (state) => {
    play(operation(state, 40));

    expect(await corral.waitForOperation(ref)).toMatchObject({ state });
  });

  it('goes on while the API is away, and ends when the operation is gone', async () => {
    play(
      hangUp,
      hangUp,
      hangUp,
      hangUp,
      problem('500 Internal Server Error', 'internal_error'),
      operation('succeeded', 100),
    );
    expect(await corral.waitForOperation(ref)).toMatchObject({ state: 'succeeded' });

    play(problem('404 Not Found', 'not_found'));
    await expect(corral.waitForOperation(ref)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('gives up in time, with what it last saw', async () => {
    play(operation('running', 30));

    await expect(corral.waitForOperation(ref, { timeoutMs: 1_500 })).rejects.toMatchObject({
      code: 'timeout',
      operationId: 'getOperation',
      body: { state: 'running', progress: 30 },
    });
  });

  it('needs an operation', async () => {
    await expect(corral.waitForOperation('https://clusters.example/api/v1/teams/acme/')).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  it('ends with its signal', async () => {
    const reason = new Error('Enough.');
    const stopping = new AbortController();
    play(operation('running', 10), () => stopping.abort(reason));

    await expect(corral.waitForOperation(ref, { signal: stopping.signal })).rejects.toBe(reason);
  });
});

describe('waiting for an action of the DNS API', () => {
  it('ends with the action, whichever way', async () => {
    const action = (status: string) => answer('200 OK', { action: { id: 7, status } });
    play(action('running'), action('error'));

    expect(await dns.waitForAction(7)).toMatchObject({ status: 'error' });
    expect(linesOfRequests(server)).toEqual(Array(2).fill('GET /v1/actions/7'));
  });
});
