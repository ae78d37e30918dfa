import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type RequestOptions, type ServerResponse } from 'node:http';
import { Session } from 'node:inspector/promises';
import { duplexPair } from 'node:stream';
import type { AuditEntryBody } from '@corral/contracts';
import { refusedWrites } from '@corral/dns-data';
import type { Served } from '@corral/http-api';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import express from 'express';
import fc from 'fast-check';
import pg from 'pg';
import { givenApiEntry, givenDnsEntry, givenToken, givenZone, ZONE, ZONE_ID } from '../support/given-audit.js';
import { listen } from '../support/listen.js';
import { recordedLog } from '../support/recorded-log.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

let test: TestClusterApi;
beforeAll(async () => {
  test = await startClusterApi();
});
afterAll(() => test.close());

describe('audit', () => {
  let team: TestTeam;
  beforeAll(async () => {
    await givenZone(test);
  });
  beforeEach(async () => {
    team = await test.createTeam(`t-${randomUUID().slice(0, 8)}`);
  });

  interface Listed {
    items: { id: string; kind: string; action: string; outcome: string; dns: { name: string } | null }[];
    next: string | null;
  }
  const list = async (query = ''): Promise<Listed> =>
    (
      await test.api
        .as(team.admin)
        .get(team.path(`/audit/?${query}`))
        .expect(200)
    ).body;
  const idsOf = ({ items }: Listed): string[] => items.map(({ id }) => id);
  const minute = (at: number): Date => new Date(Date.UTC(2020, 0, 2, 12, at));

  describe('an audit entry', () => {
    it.each([
      ['empty texts', '', ''],
      ['blanks', ' ', ' '],
    ])(
      'of a refused write keeps the schema whatever the client called the record set: %s',
      async (_what, name, type) => {
        const tokenId = await givenToken(test, team, 'ci');
        await refusedWrites(test.db).count({
          owner: { kind: 'team', id: team.id, teamId: team.id },
          tokenId,
          key: { zoneId: ZONE_ID, name, type },
          operation: 'create',
          code: 'forbidden',
          requestId: randomUUID(),
        });

        const { items } = await list('kind=dns');

        expect(items).toMatchObject([{ kind: 'dns', outcome: 'unsent' }]);
      },
    );

    it('of a DNS write has the token, the request and the upstream’s answer', async () => {
      const tokenId = await givenToken(test, team, 'ci');
      const id = await givenDnsEntry(test, team, {
        tokenId,
        name: `www.${team.slug}`,
        type: 'A',
        operation: 'set_records',
        createdAt: minute(0),
        requestBody: '{"records":[{"value":"192.0.2.1","comment":"web"}]}',
        upstreamStatus: 201,
        upstreamBody: '{"action":{"id":1,"status":"running"}}',
        beforeBody: '{"ttl":300,"records":[]}',
      });

      const { items } = await list('kind=dns');

      expect(items).toEqual([
        {
          id,
          kind: 'dns',
          action: 'dns.set_records',
          outcome: 'completed',
          actor: { kind: 'token', id: tokenId, name: 'ci' },
          target: { kind: 'Rrset', id: `www.${team.slug}/A`, name: `www.${team.slug}` },
          dns: {
            zone: ZONE,
            name: `www.${team.slug}`,
            type: 'A',
            upstreamStatus: 201,
            requestBody: { records: [{ value: '192.0.2.1', comment: 'web' }] },
            upstreamBody: { action: { id: 1, status: 'running' } },
            foundBody: null,
            foundApplied: null,
            completedAt: null,
            count: 1,
            refusalCode: null,
            requestBodyCut: null,
            upstreamBodyCut: null,
            foundBodyCut: null,
            beforeBody: { ttl: 300, records: [] },
            beforeBodyCut: null,
            afterBody: null,
            afterBodyCut: null,
          },
          requestId: null,
          changes: null,
          detail: {},
          createdAt: '2020-01-02T12:00:00.000Z',
        },
      ]);
    });

    it('of this API has the user, the target and the request id', async () => {
      const made = await test.api.as(team.member).post(team.path('/dns-tokens/')).send({ name: 'ci' }).expect(201);

      const { items } = await list();

      expect(items).toEqual([
        {
          id: expect.stringMatching(/^api-\d+$/),
          kind: 'dns_token',
          action: 'dns_token.create',
          outcome: 'completed',
          dns: null,
          actor: { kind: 'user', id: expect.stringMatching(/^\d+$/), name: team.member.email },
          target: { kind: 'DnsToken', id: made.body.id, name: 'ci' },
          requestId: made.headers['x-correlation-id'],
          changes: null,
          detail: { scopes: ['dns'], withinName: null, withinTypes: [], expiresAt: null },
          createdAt: expect.any(String),
        },
      ]);
      expect(JSON.stringify(items)).not.toContain(made.body.token);
    });

    it('of a change found in the zone has the upstream as its actor', async () => {
      await givenDnsEntry(test, team, {
        tokenId: null,
        operation: 'drift',
        state: 'observed',
        foundBody: '{"records":[]}',
      });

      const [entry] = (await list()).items;

      expect(entry).toMatchObject({
        action: 'dns.drift',
        outcome: 'observed',
        actor: { kind: 'upstream', id: null, name: null },
        dns: { foundBody: { records: [] } },
      });
    });

    it('of a demo has the demo as its target', async () => {
      const tokenId = await givenToken(test, team, 'ci');
      await givenDnsEntry(test, team, { tokenId, name: 'shop', type: 'DEMO', requestBody: '{"name":"Shop"}' });

      expect((await list('type=DEMO')).items).toMatchObject([
        { target: { kind: 'Demo', id: 'shop', name: 'shop' }, dns: { requestBody: { name: 'Shop' } } },
      ]);
    });

    it('of writes refused before they were sent has their count and the reason', async () => {
      const tokenId = await givenToken(test, team, 'ci');
      await givenDnsEntry(test, team, { tokenId, state: 'unsent', count: 417, refusalCode: 'forbidden' });

      expect((await list('outcome=unsent')).items).toMatchObject([
        { action: 'dns.create', outcome: 'unsent', dns: { count: 417, refusalCode: 'forbidden', requestBody: null } },
      ]);
    });

    it('with a cut body has the length and digest of the whole body', async () => {
      const tokenId = await givenToken(test, team, 'ci');
      const id = await givenDnsEntry(test, team, { tokenId, requestBody: '12345', upstreamBody: '{"action":{}}' });
      await test.pool.query(
        `UPDATE dns_audit_entry SET request_bytes = 20000, request_sha256 = sha256('x') WHERE id = $1`,
        [id.replace('dns-', '')],
      );

      expect((await list('kind=dns')).items).toMatchObject([
        {
          dns: {
            requestBody: '12345',
            upstreamBody: { action: {} },
            upstreamBodyCut: null,
            requestBodyCut: { bytes: 20_000, sha256: createHash('sha256').update('x').digest('hex') },
          },
        },
      ]);
    });

    it('without a user has the service as its actor', async () => {
      await givenApiEntry(test, team, { action: 'cluster.deleted' });

      expect((await list()).items).toMatchObject([{ actor: { kind: 'service', id: null, name: null } }]);
    });

    it('by an operator names the operator, and is not one of the service', async () => {
      const id = await givenApiEntry(test, team, { action: 'team.set_quota' });
      await test.db.auditEntry.update({ where: { id: BigInt(id.replace('api-', '')) }, data: { operator: 'ada' } });

      expect((await list('actor=operator')).items).toMatchObject([
        { id, actor: { kind: 'operator', id: null, name: 'ada' } },
      ]);
      expect((await list('actor=service')).items).toEqual([]);
    });

    it.each([
      [{}, 'pending'],
      [{ issued: true }, 'completed'],
      [{ issued: false }, 'refused'],
    ])('of a kubeconfig with the detail %j has the outcome %s', async (detail, outcome) => {
      await givenApiEntry(test, team, { action: 'kubeconfig.issue', detail });

      expect((await list()).items.map((entry) => entry.outcome)).toEqual([outcome]);
      expect((await list(`outcome=${outcome}`)).items).toHaveLength(1);
    });
  });

  describe('the audit log', () => {
    it('merges both logs, newest first', async () => {
      const tokenId = await givenToken(test, team, 'ci');
      const ids = [
        await givenDnsEntry(test, team, { tokenId, createdAt: minute(3) }),
        await givenApiEntry(test, team, { createdAt: minute(2) }),
        await givenDnsEntry(test, team, { tokenId, name: 'b', createdAt: minute(1) }),
        await givenApiEntry(test, team, { createdAt: minute(0) }),
      ];

      expect(idsOf(await list(`to=${minute(4).toISOString()}`))).toEqual(ids);
    });

    it('shows a pending write and later its outcome at the same position', async () => {
      const tokenId = await givenToken(test, team, 'ci');
      const id = await givenDnsEntry(test, team, { tokenId, state: 'pending' });
      await givenApiEntry(test, team);
      const before = await list();

      await test.pool.query(`UPDATE dns_audit_entry SET state = 'refused', upstream_status = 422 WHERE id = $1`, [
        Number(id.slice('dns-'.length)),
      ]);

      const after = await list();
      expect(idsOf(after)).toEqual(idsOf(before));
      expect([before, after].map(({ items }) => items.find((entry) => entry.id === id)?.outcome)).toEqual([
        'pending',
        'refused',
      ]);
    });

    it('lists all entries with equal times once, while new ones are added', async () => {
      const tokenId = await givenToken(test, team, 'ci');
      const ids: string[] = [];
      for (let at = 0; at < 6; at += 1) {
        ids.push(await givenDnsEntry(test, team, { tokenId, name: `n${at}`, createdAt: minute(0) }));
        ids.push(await givenApiEntry(test, team, { createdAt: minute(0) }));
      }
      const seen: string[] = [];
      for (let next: string | null = ''; next !== null; ) {
        const page: Listed = await list(`to=${minute(1).toISOString()}&limit=5${next === '' ? '' : `&cursor=${next}`}`);
        expect(page.items.length).toBeLessThanOrEqual(5);
        seen.push(...idsOf(page));
        next = page.next;
        await givenApiEntry(test, team, { createdAt: minute(0), name: 'new' });
        await givenDnsEntry(test, team, { tokenId, name: `new${seen.length}`, createdAt: minute(0) });
      }

      expect(seen.filter((id) => ids.includes(id)).sort()).toEqual(ids.sort());
      expect(new Set(seen).size).toBe(seen.length);
    });

    it('has shorter pages when bodies are large, without gaps', async () => {
      const tokenId = await givenToken(test, team, 'ci');
      const requestBody = JSON.stringify({ records: [{ value: 'x'.repeat(600_000) }] });
      for (let at = 0; at < 5; at += 1) await givenDnsEntry(test, team, { tokenId, name: `n${at}`, requestBody });
      const pages: Listed[] = [];
      for (let next: string | null = ''; next !== null; next = pages.at(-1)?.next ?? null) {
        pages.push(await list(`kind=dns&limit=200${next === '' ? '' : `&cursor=${next}`}`));
      }

      expect(pages.map(({ items }) => items.length)).toEqual([2, 2, 1]);
      expect(pages.flatMap(({ items }) => items.map(({ dns }) => dns?.name))).toEqual(['n4', 'n3', 'n2', 'n1', 'n0']);
    });

    it('is empty for a team without entries', async () => {
      expect(await list()).toEqual({ items: [], next: null });
    });
  });

  describe('a query of the audit log', () => {
    it.each([
      'kind=clusters',
      'from=yesterday',
      `cursor=${Buffer.from('["2026-11-21T12:00:00.000Z","other-1"]').toString('base64url')}`,
    ])('answers 422 for ?%s', async (query) => {
      const { body } = await test.api
        .as(team.admin)
        .get(team.path(`/audit/?${query}`))
        .expect(422);

      expect(body.code).toBe('validation_failed');
      if (query.includes('cursor') || query.includes('limit')) return;
      await test.api
        .as(team.admin)
        .get(team.path(`/audit/export/?${query}`))
        .expect(422);
    });

    it('cannot page an export', async () => {
      for (const query of ['limit=1', 'cursor=x']) {
        await test.api
          .as(team.admin)
          .get(team.path(`/audit/export/?${query}`))
          .expect(422);
      }
    });
  });

  describe('access to the audit log', () => {
    it('is limited to administrators of the team', async () => {
      const other = await test.createTeam(`o-${randomUUID().slice(0, 8)}`);
      await givenApiEntry(test, team, { name: 'secret-project' });
      for (const at of ['/audit/', '/audit/export/']) {
        const refused = await test.api.as(team.member).get(team.path(at)).expect(403);
        expect(refused.body.code).toBe('permission_denied');
        await test.api.as(other.admin).get(team.path(at)).expect(404);
        await test.api.get(team.path(at)).expect(401);
        expect((await test.api.as(other.admin).get(other.path(at)).expect(200)).text).not.toContain('secret-project');
      }
    });
  });
});

describe('audit export', () => {
  /** Number of DNS entries. Their bodies have 18 MB, and the export may use 10 MB of memory. */
  const ENTRIES = 6_000;
  const PER_PAGE = 500;
  const MEGABYTE = 1_048_576;

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
  const inspector = new Session();
  beforeAll(() => inspector.connect());
  afterAll(() => inspector.disconnect());
  const memoryInUse = async (): Promise<number> => {
    await inspector.post('HeapProfiler.collectGarbage');
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };

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
});

describe('audit filters', () => {
  /*
   * Two teams whose entries have the same names, except for tokens and users. For any filters, an answer has exactly the
   * team's entries that match all of them, in order.
   */

  /** All entries of each team, newest first, as answered without filters. */
  let everything: Map<string, AuditEntryBody[]>;

  const minutes = (at: number): Date => new Date(Date.UTC(2020, 0, 2, 12, at));
  const states = ['pending', 'completed', 'refused', 'unsent', 'settled'];

  beforeAll(async () => {
    await givenZone(test);
    everything = new Map();
    for (const team of [test.acme, test.globex]) {
      await fill(team);
      const { body } = await test.api.as(team.admin).get(team.path('/audit/?limit=200')).expect(200);
      everything.set(team.slug, body.items);
    }
  });

  async function fill(team: TestTeam): Promise<void> {
    const tokens = [await givenToken(test, team, 'ci'), await givenToken(test, team, `of ${team.slug}`)];
    for (let at = 0; at < 40; at += 1) {
      const tokenId = at % 7 === 0 ? null : (tokens[at % 2] as string);
      await givenDnsEntry(test, team, {
        tokenId,
        name: ['web', 'api', 'mail'][at % 3] as string,
        type: at % 4 === 0 ? 'TXT' : 'A',
        operation: ['create', 'delete', 'set_records'][at % 3] as string,
        // At most one write per record set may be pending, over all teams, so none is here.
        state: tokenId === null ? 'observed' : (states[1 + (at % 4)] as string),
        createdAt: minutes(at % 11),
      });
    }
    for (let at = 0; at < 20; at += 1) {
      await givenApiEntry(test, team, {
        action: ['cluster.declare', 'cluster.delete', 'kubeconfig.issue', 'connection.replace'][at % 4] as string,
        name: ['web', 'api', 'main'][at % 3] as string,
        userId: [team.admin.id, team.member.id, null][at % 3] as string | null,
        detail: [{}, { issued: true }, { issued: false }][(at >> 2) % 3] as object,
        createdAt: minutes(at % 11),
      });
    }
  }

  type Filters = Partial<
    Record<'kind' | 'action' | 'outcome' | 'name' | 'type' | 'token' | 'actor' | 'from' | 'to', string>
  >;

  /** A second implementation of the filters. */
  function admits(
    { kind, action, outcome, name, type, token, actor, from, to }: Filters,
    entry: AuditEntryBody,
  ): boolean {
    const isToken = entry.actor.kind === 'token' && (entry.actor.id === token || entry.actor.name === token);
    const isActor = entry.actor.kind === actor || (entry.actor.kind === 'user' && entry.actor.name === actor);
    return (
      (kind === undefined || entry.kind === kind) &&
      (action === undefined || entry.action === action) &&
      (outcome === undefined || entry.outcome === outcome) &&
      (name === undefined || entry.target.name === name) &&
      (type === undefined || entry.dns?.type === type) &&
      (token === undefined || isToken) &&
      (actor === undefined || isActor) &&
      (from === undefined || Date.parse(entry.createdAt) >= Date.parse(from)) &&
      (to === undefined || Date.parse(entry.createdAt) < Date.parse(to))
    );
  }

  const word = (...words: string[]) => fc.constantFrom(...words);

  function filters(): fc.Arbitrary<Filters> {
    const tokenIds = [...everything.values()].flat().flatMap(({ actor }) => (actor.kind === 'token' ? [actor.id] : []));
    const moment = fc.integer({ min: -1, max: 12 }).map((at) => minutes(at).toISOString());
    return fc.record(
      {
        kind: word('dns', 'cluster', 'connection', 'kubeconfig', 'dns_token', 'team'),
        action: word('dns.create', 'dns.set_records', 'cluster.delete', 'dns_token.create', 'cluster', 'create'),
        outcome: word(...states, 'observed'),
        name: word('web', 'api', 'main', 'ci', 'WEB', "'; --", '%'),
        type: word('A', 'TXT', 'a', 'AAAA'),
        token: word('ci', 'of acme', 'of globex', 'nothing', ...new Set(tokenIds as string[])),
        actor: word('user', 'token', 'service', 'upstream', 'admin@acme.test', 'admin@globex.test', 'nobody@acme.test'),
        from: moment,
        to: moment,
      },
      { requiredKeys: [] },
    );
  }

  it('pages and exports contain exactly the team’s entries that match all filters', async () => {
    const [first] = everything.get('acme') as AuditEntryBody[];
    expect([...everything.values()].map((entries) => entries.length)).toEqual([62, 62]);
    expect(everything.get('globex')?.map(({ id }) => id)).not.toContain(first?.id);
    await fc.assert(
      fc.asyncProperty(
        filters(),
        word('acme', 'globex'),
        fc.integer({ min: 1, max: 70 }),
        async (chosen, slug, limit) => {
          const team = slug === 'acme' ? test.acme : test.globex;
          const query = new URLSearchParams(chosen).toString();
          const wanted = (everything.get(slug) as AuditEntryBody[]).filter((entry) => admits(chosen, entry));

          const listed: AuditEntryBody[] = [];
          for (let next: string | null = ''; next !== null; ) {
            const paging = new URLSearchParams({ limit: String(limit), ...(next === '' ? {} : { cursor: next }) });
            const { body } = await test.api
              .as(team.admin)
              .get(team.path(`/audit/?${query}&${paging}`))
              .expect(200);
            listed.push(...body.items);
            next = body.next;
          }
          const exported = await test.api
            .as(team.admin)
            .get(team.path(`/audit/export/?${query}`))
            .expect(200);

          expect(listed).toEqual(wanted);
          expect(exported.text).toBe(wanted.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
        },
      ),
      { numRuns: 150 },
    );
  });
});
