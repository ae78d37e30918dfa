import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type RequestOptions, type ServerResponse } from 'node:http';
import { Session } from 'node:inspector/promises';
import { duplexPair } from 'node:stream';
import type { Served } from '@corral/http-api';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import express from 'express';
import pg from 'pg';
import { givenToken, givenZone, ZONE_ID } from '../support/given-audit.js';
import { listen } from '../support/listen.js';
import { recordedLog } from '../support/recorded-log.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

/** Number of DNS entries. Their bodies have 18 MB, and the export may use 10 MB of memory. */
const ENTRIES = 6_000;
const PER_PAGE = 500;
const MEGABYTE = 1_048_576;

const inspector = new Session();
const recorded = recordedLog();
let test: TestClusterApi;
let server: Served;
const running = new Set<ServerResponse>();
const app = express().use((req, res, next) => {
  running.add(res);
  res.once('close', () => running.delete(res));
  test.app(req, res, next);
});
beforeAll(async () => {
  inspector.connect();
  test = await startClusterApi({ log: recorded.log });
  server = await listen(app);
  await givenZone(test);
  const tokenId = await givenToken(test, test.acme, 'ci');
  const client = new pg.Client({ connectionString: test.databaseUrl });
  await client.connect();
  await client.query(`SET session_replication_role = replica`); // skips foreign keys, which do not matter here
  await client.query(
    `INSERT INTO dns_audit_entry (team_id, actor, token_id, zone_id, name, type, operation, state, request_body,
                                  upstream_status, upstream_body, created_at)
     SELECT $1, 'token', $2, $3, 'n' || n, 'A', 'create', 'completed', '{"records":[{"value":"' || repeat('x', 3000) || '"}]}',
            201, '{"action":{"id":' || n || '}}', timestamptz '2020-01-02' + n / 3 * interval '1 ms'
     FROM generate_series(1, $4::int) AS n`,
    [test.acme.id, tokenId, ZONE_ID, ENTRIES],
  );
  await client.query(
    `INSERT INTO audit_entry (team_id, action, target_kind, target_id, target_name, created_at)
     SELECT $1, 'cluster.declare', 'Cluster', gen_random_uuid(), 'c' || n,
            timestamptz '2020-01-02' + n * interval '1 ms'
     FROM generate_series(1, $2::int) AS n`,
    [test.acme.id, ENTRIES / 10],
  );
  await client.query('ANALYZE');
  await client.end();
});
afterAll(async () => {
  inspector.disconnect();
  await server.close();
  await test.close();
});
afterEach(async () => {
  jest.restoreAllMocks();
  // A team may run two exports, so aborted ones must have ended before the next test.
  await waitFor('every export to end', () => running.size === 0);
});

/** Starts an export over a real connection without reading its body. */
const startExport = (team: TestTeam, query = ''): Promise<IncomingMessage> => request(team, query, {});

/** The same over a connection with a buffer of a few kilobytes, independent of the machine's socket buffers. */
function startExportInMemory(team: TestTeam, query: string): Promise<IncomingMessage> {
  const [ours, theirs] = duplexPair();
  createServer(app).emit('connection', theirs);
  return request(team, query, { createConnection: () => ours });
}

async function request(team: TestTeam, query: string, options: RequestOptions): Promise<IncomingMessage> {
  const path = team.path(`/audit/export/?${query}`);
  const headers = { cookie: team.admin.cookie };
  const [answer] = await once(get(`${server.url}${path}`, { headers, ...options }), 'response');
  return answer as IncomingMessage;
}
async function textOf(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of answer.setEncoding('utf8')) text += chunk;
  return text;
}
async function memoryInUse(): Promise<number> {
  await inspector.post('HeapProfiler.collectGarbage');
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe('an export', () => {
  it('is a file with one entry per line', async () => {
    const answer = await startExport(test.acme, 'to=2020-01-02T00:00:00.002Z');
    const lines = (await textOf(answer)).trimEnd().split('\n');

    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/x-ndjson; charset=utf-8',
      'content-disposition': 'attachment; filename="audit-acme.ndjson"',
      'cache-control': 'no-store',
    });
    expect(lines.map((line) => JSON.parse(line).target.name)).toEqual(['c1', 'n5', 'n4', 'n3', 'n2', 'n1']);
  });

  it('without entries is an empty file', async () => {
    expect(await textOf(await startExport(test.acme, 'name=nothing'))).toBe('');
  });

  it('contains every entry once and in order, in constant memory', async () => {
    const answer = await startExport(test.acme);
    const begun = await memoryInUse();
    let highest = begun;
    let entries = 0;
    let rest = '';
    let before = '9999';
    const names = new Set<string>();

    for await (const chunk of answer.setEncoding('utf8')) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() as string;
      for (const line of lines) {
        const { createdAt, target } = JSON.parse(line);
        if (target.kind === 'Rrset') names.add(target.name);
        expect(createdAt <= before).toBe(true);
        before = createdAt;
        entries += 1;
        if (entries % 3_000 === 0) highest = Math.max(highest, await memoryInUse());
      }
    }

    expect(rest).toBe('');
    // One more entry: the token that the test created.
    expect([entries, names.size]).toEqual([ENTRIES + ENTRIES / 10 + 1, ENTRIES]);
    expect((highest - begun) / MEGABYTE).toBeLessThan(10);
  });

  it('does not read ahead of a slow client', async () => {
    const pages = jest.spyOn(test.db, '$queryRaw');
    const begin = () => startExportInMemory(test.acme, 'to=2020-01-02T00:00:01Z');
    const unread = await begin();

    // A whole other export takes at least the time of a read-ahead of the first one.
    const lines = (await textOf(await begin())).split('\n').length;
    const meanwhile = pages.mock.calls.length;
    const late = (await textOf(unread)).split('\n').length;

    const ofOne = pages.mock.calls.length / 2;
    expect(late).toBe(lines);
    expect(ofOne).toBeGreaterThan((2 * 3_000) / PER_PAGE);
    // Two statements per page, for the page that is being sent and one more.
    expect(meanwhile).toBeLessThanOrEqual(ofOne + 4);
  });

  it('answers HEAD without reading on', async () => {
    const pages = jest.spyOn(test.db, '$queryRaw');

    await test.api.as(test.acme.admin).head(test.acme.path('/audit/export/')).expect(200);

    expect(pages.mock.calls.length).toBe(2);
  });
});

describe('an export that cannot be finished', () => {
  it('answers a problem before its first line', async () => {
    jest.spyOn(test.db, '$queryRaw').mockImplementation(() => {
      throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
    });

    const { body } = await test.api.as(test.acme.admin).get(test.acme.path('/audit/export/')).expect(503);

    expect(body.code).toBe('service_unavailable');
  });

  it('cuts the connection after its first line, so that it does not look complete', async () => {
    const query = test.db.$queryRaw.bind(test.db);
    let pages = 0;
    jest.spyOn(test.db, '$queryRaw').mockImplementation(((...statement: Parameters<typeof query>) => {
      pages += 1;
      if (pages > 6) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
      return query(...statement);
    }) as typeof test.db.$queryRaw);

    const answer = await startExport(test.acme);

    await expect(textOf(answer)).rejects.toThrow('aborted');
    expect(answer.complete).toBe(false);
  });

  it('logs no error when the client has disconnected', async () => {
    const answer = await startExport(test.acme);
    answer.destroy();

    await waitFor('the end of the request', async () => {
      const last = (await recorded.lines()).findLast(({ message }) => message === 'request');
      expect(last).toMatchObject({ route: '/api/v1/teams/{team}/audit/export/', aborted: true });
      return true;
    });
    expect((await recorded.lines()).filter(({ message }) => message === 'unexpected error')).toEqual([]);
  });
});

describe('concurrent exports', () => {
  it('are limited to two per team, and a disconnect allows another', async () => {
    const [first, second] = [await startExport(test.acme), await startExport(test.acme)];

    const refused = await test.api.as(test.acme.admin).get(test.acme.path('/audit/export/')).expect(429);
    const other = await startExport(test.globex);
    first.destroy();
    const next = await waitFor('room for one more', async () => {
      const answer = await startExport(test.acme);
      if (answer.statusCode === 200) return answer;
      answer.destroy();
      return null;
    });

    expect(refused.body.code).toBe('rate_limit_exceeded');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(other.statusCode).toBe(200);
    for (const answer of [second, next, other]) answer.destroy();
  });
});
