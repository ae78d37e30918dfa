import { describe, expect, it } from '@jest/globals';
import { createClient, type StreamMessage } from '../src/index.js';
import {
  answer,
  brokenStream,
  endedStream,
  hangUp,
  headerOf,
  linesOfRequests,
  problem,
  startRudeServer,
  stream,
} from './support/rude-server.js';

const server = await startRudeServer();
let pauses: number[] = [];
const corral = createClient({
  baseUrl: server.url,
  credentials: { session: 's3ss10n' },
  pause: async (ms) => void pauses.push(ms),
});

const mark = (event: string, id: string) =>
  `event: ${event}\nid: ${id}\ndata: {"id":"${id}","at":"2026-11-25T00:00:00.000Z"}\n\n`;
const changed = (id: string) =>
  `id: ${id}\nevent: cluster.changed\ndata: {"id":"${id}","kind":"Cluster","name":"web"}\n\n`;

/** What a follower sees, in short, until it has seen `count` messages. */
async function followed(count: number, options: { after?: string } = {}): Promise<string[]> {
  pauses = [];
  const seen: string[] = [];
  for await (const message of corral.followEvents('acme', options)) {
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
    for await (const message of corral.followEvents('acme', { signal: stopping.signal })) {
      seen.push(textOf(message));
      if (message.type === 'event') stopping.abort();
    }

    expect(seen).toEqual(['live', 'e1']);
  });
});
