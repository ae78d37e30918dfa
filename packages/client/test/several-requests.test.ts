import { describe, expect, it } from '@jest/globals';
import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { type ServerEvent, serverEventsOf } from '../src/event-stream.js';
import { createClient, createDnsClient, type StreamMessage } from '../src/index.js';
import {
  answer,
  type Behaviour,
  brokenStream,
  endedStream,
  hangUp,
  headerOf,
  linesOfRequests,
  problem,
  startRudeServer,
  stream,
} from './support/rude-server.js';

/* What takes several requests, or an answer without an end. */

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
});

describe('waiting for an action of the DNS API', () => {
  it('ends with the action, whichever way', async () => {
    const action = (status: string) => answer('200 OK', { action: { id: 7, status } });
    play(action('running'), action('error'));

    expect(await dns.waitForAction(7)).toMatchObject({ status: 'error' });
    expect(linesOfRequests(server)).toEqual(Array(2).fill('GET /v1/actions/7'));
  });
});

const follower = createClient({ ...options, baseUrl: server.url, credentials: { session: 's3ss10n' } });

const mark = (event: string, id: string) =>
  `event: ${event}\nid: ${id}\ndata: {"id":"${id}","at":"2026-11-25T00:00:00.000Z"}\n\n`;
const changed = (id: string) =>
  `id: ${id}\nevent: cluster.changed\ndata: {"id":"${id}","kind":"Cluster","name":"web"}\n\n`;

/** What a follower sees, in short, until it has seen `count` messages. */
async function followed(count: number, from: { after?: string } = {}): Promise<string[]> {
  pauses = [];
  const seen: string[] = [];
  for await (const message of follower.followEvents('acme', from)) {
    seen.push(textOf(message));
    if (seen.length === count) break;
  }
  return seen;
}

function textOf(message: StreamMessage): string {
  if (message.type === 'event') return message.event.id;
  if (message.type === 'reload') return `reload ${message.id}`;
  return message.type === 'down' ? `down ${message.error?.code ?? '-'}` : message.type;
}

const lastIds = () => server.requests.map((request) => headerOf(request, 'Last-Event-ID'));

describe('a follower', () => {
  it('continues after the last event when the connection breaks in the middle of one', async () => {
    server.script(
      brokenStream(mark('ready', 'r1'), changed('e1'), changed('e2'), 'id: e3\nevent: cluster.chan'),
      stream(changed('e3'), changed('e4')),
    );

    expect(await followed(8)).toEqual(['live', 'reload r1', 'e1', 'e2', 'down network', 'live', 'e3', 'e4']);
    expect(linesOfRequests(server)).toEqual(Array(2).fill('GET /api/v1/teams/acme/events/'));
    expect(lastIds()).toEqual([null, 'e2']);
    expect(headerOf(server.requests[0], 'Cookie')).toBe('sessionid=s3ss10n');
  });

  it('sees an event once, even if the server sends it again', async () => {
    server.script(
      brokenStream(changed('e1'), changed('e2')),
      stream(changed('e1'), changed('e2'), changed('e2'), changed('e3')),
    );

    expect(await followed(6, { after: 'e0' })).toEqual(['live', 'e1', 'e2', 'down network', 'live', 'e3']);
    expect(lastIds()).toEqual(['e0', 'e2']);
  });

  it('reconnects at once after the end of a stream, and later after each failure', async () => {
    server.script(
      endedStream(mark('ready', 'r1'), 'event: end\ndata: {"reason":"shutdown","message":"Reconnect."}\n\n'),
      hangUp,
      problem('503 Service Unavailable', 'service_unavailable', ['Retry-After: 20']),
      answer('200 OK', '<html>'),
      stream(changed('e1')),
    );

    expect(await followed(9)).toEqual([
      ...['live', 'reload r1', 'down -', 'down network', 'down service_unavailable'],
      ...['live', 'down -', 'live', 'e1'],
    ]);
    expect(pauses[0]).toBeLessThan(1_300);
    expect(pauses[1]).toBeGreaterThan(1_400);
    expect(pauses[2]).toBeGreaterThanOrEqual(20_000);
    expect(Math.max(...pauses)).toBeLessThan(38_000);
  });

  it('is told to reload when the server does not know its position', async () => {
    server.script(
      problem('422 Unprocessable Content', 'validation_failed'),
      stream(mark('ready', 'r2'), changed('e9')),
    );

    expect(await followed(5, { after: 'of-an-older-database' })).toEqual([
      'reload null',
      'down validation_failed',
      'live',
      'reload r2',
      'e9',
    ]);
    expect(lastIds()).toEqual(['of-an-older-database', null]);
  });

  it.each([
    ['the session has ended', '401 Unauthorized', 'authentication_required'],
    ['the membership has ended', '404 Not Found', 'not_found'],
    ['the role may not follow', '403 Forbidden', 'permission_denied'],
  ])('ends when %s', async (_what, status, code) => {
    server.script(problem(status, code));

    await expect(followed(1)).rejects.toMatchObject({ code, operationId: 'streamTeamEvents' });
    expect(pauses).toEqual([]);
  });

  it('does not take garbage for an event', async () => {
    server.script(brokenStream('id: e1\ndata: {"id":\n\n'), stream(changed('e1')));

    expect(await followed(4)).toEqual(['live', 'down unreadable', 'live', 'e1']);
    expect(lastIds()).toEqual([null, null]);
  });

  it('ends quietly when its signal aborts, and closes the connection', async () => {
    server.script(stream(changed('e1')));
    const stopping = new AbortController();
    const seen: string[] = [];
    for await (const message of follower.followEvents('acme', { signal: stopping.signal })) {
      seen.push(textOf(message));
      if (message.type === 'event') stopping.abort();
    }

    expect(seen).toEqual(['live', 'e1']);
  });
});

describe('events of a server', () => {
  const end = fc.constantFrom('\n', '\r\n', '\r');
  const value = fc.oneof(
    fc.string({ maxLength: 12 }).map((text) => text.replace(/[\r\n\0]/g, ' ')),
    fc.constantFrom('', ' ', ': ', 'data: x', '{"id":"1"}', 'ä→🙂'),
  );
  const field = fc.constantFrom('data', 'event', 'id', 'retry', 'Data', 'data ', '');
  const line = fc.oneof(
    { weight: 6, arbitrary: fc.tuple(field, fc.constantFrom(':', ': '), value).map((parts) => parts.join('')) },
    { weight: 3, arbitrary: fc.constant('') },
    { weight: 1, arbitrary: fc.constantFrom('data', 'event', ': heartbeat', ':', 'nonsense') },
  );
  /** A stream as bytes, cut anywhere. */
  const cutStream = fc
    .tuple(
      fc.array(
        fc.tuple(line, end).map((parts) => parts.join('')),
        { maxLength: 30 },
      ),
      fc.array(fc.nat(600), { maxLength: 8 }),
    )
    .map(([lines, cuts]) => {
      const bytes = new TextEncoder().encode(lines.join(''));
      const places = [0, ...cuts.filter((cut) => cut <= bytes.length).sort((a, b) => a - b), bytes.length];
      return { text: lines.join(''), chunks: places.slice(1).map((to, index) => bytes.slice(places[index], to)) };
    });

  async function read(chunks: readonly Uint8Array[], max = 10_000): Promise<ServerEvent[]> {
    async function* given() {
      yield* chunks;
    }
    const events: ServerEvent[] = [];
    for await (const event of serverEventsOf(given(), max)) events.push(event);
    return events;
  }

  function referenceOf(text: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    const parser = createParser({
      onEvent: ({ event = 'message', data, id = null }) => void events.push({ event: event || 'message', data, id }),
    });
    parser.feed(text);
    return events;
  }

  it('are read as eventsource-parser does, wherever their bytes are cut', async () => {
    await fc.assert(
      fc.asyncProperty(cutStream, async ({ text, chunks }) => {
        expect(await read(chunks)).toEqual(referenceOf(text));
      }),
      { numRuns: 100 },
    );
  });

  it('are refused when a line or the data of one event is too large', async () => {
    const bytes = (text: string) => [new TextEncoder().encode(text)];

    await expect(read(bytes(`data: ${'x'.repeat(200)}`), 100)).rejects.toMatchObject({ code: 'answer_too_large' });
    await expect(read(bytes(`data: ${'x'.repeat(60)}\n`.repeat(3)), 100)).rejects.toMatchObject({
      code: 'answer_too_large',
    });
    expect(await read(bytes(`data: ${'x'.repeat(60)}\n\n`.repeat(3)), 100)).toHaveLength(3);
  });
});
