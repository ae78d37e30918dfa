import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import { refusedWrites } from '@corral/dns-data';
import type { Served } from '@corral/http-api';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import express from 'express';
import pg from 'pg';
import { givenApiEntry, givenDnsEntry, givenToken, givenZone, ZONE, ZONE_ID } from '../support/given-audit.js';
import { listen } from '../support/listen.js';
import { recordedLog } from '../support/recorded-log.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

const recorded = recordedLog();
let test: TestClusterApi;
beforeAll(async () => {
  test = await startClusterApi({ log: recorded.log });
  await givenZone(test);
});
afterAll(() => test.close());

describe('audit', () => {
  let team: TestTeam;
  beforeEach(async () => {
    team = await test.createTeam();
  });

  interface Listed {
    items: { id: string; kind: string; action: string; outcome: string; dns: { name: string } | null }[];
    next: string | null;
  }
  const list = async (query = ''): Promise<Listed> => (await team.asAdmin.get(`/audit/?${query}`).expect(200)).body;
  const idsOf = ({ items }: Listed): string[] => items.map(({ id }) => id);
  const minute = (at: number): Date => new Date(Date.UTC(2020, 0, 2, 12, at));

  describe('an audit entry', () => {
    it('of a refused write keeps the schema whatever the client called the record set', async () => {
      const tokenId = await givenToken(test, team, 'ci');
      await refusedWrites(test.db).count({
        owner: { kind: 'team', id: team.id, teamId: team.id },
        tokenId,
        key: { zoneId: ZONE_ID, name: '', type: '' },
        operation: 'create',
        code: 'forbidden',
        requestId: randomUUID(),
      });

      const { items } = await list('kind=dns');

      expect(items).toMatchObject([{ kind: 'dns', outcome: 'unsent' }]);
    });

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

      expect((await list('kind=dns')).items).toEqual([
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
      const made = await team.asMember.post('/dns-tokens/').send({ name: 'ci' }).expect(201);

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
      const digest = createHash('sha256').update('x').digest();
      const cut = { requestBody: '12345', requestBytes: 20_000, requestSha256: new Uint8Array(digest) };
      await givenDnsEntry(test, team, { tokenId: await givenToken(test, team, 'ci'), upstreamBody: '{"a":1}', ...cut });

      const requestBodyCut = { bytes: 20_000, sha256: digest.toString('hex') };
      expect((await list('kind=dns')).items).toMatchObject([
        { dns: { requestBody: '12345', requestBodyCut, upstreamBody: { a: 1 }, upstreamBodyCut: null } },
      ]);
    });

    it('by an operator names the operator, and is not one of the service', async () => {
      const id = await givenApiEntry(test, team, { action: 'team.set_quota', operator: 'ada' });

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

    it('has exactly the entries of the team that match all filters, over all pages and in exports', async () => {
      const names = new Map<string, string>();
      /** Fills the log of a team, oldest entry first. @returns the id of one of its tokens */
      const fill = async (of: TestTeam): Promise<string> => {
        const [ci, other] = [await givenToken(test, of, 'ci'), await givenToken(test, of, 'other')];
        await test.db.auditEntry.deleteMany({ where: { teamId: of.id } });
        const dns = async (at: number, entry: Parameters<typeof givenDnsEntry>[2]) =>
          names.set(await givenDnsEntry(test, of, { ...entry, createdAt: minute(at) }), `d${at} ${of.slug}`);
        const api = async (at: number, entry: Parameters<typeof givenApiEntry>[2]) =>
          names.set(await givenApiEntry(test, of, { ...entry, createdAt: minute(at) }), `a${at} ${of.slug}`);
        await dns(1, { tokenId: ci, name: 'web', requestId: 'request-1' });
        await dns(2, { tokenId: other, name: 'api', type: 'TXT', operation: 'delete', state: 'refused' });
        await dns(3, { tokenId: null, name: 'web', operation: 'set_records', state: 'observed' });
        await api(4, { name: 'web', userId: of.admin.id, requestId: 'request-1' });
        await api(5, { action: 'kubeconfig.issue', userId: of.member.id, detail: { issued: false } });
        await api(6, { action: 'connection.replace', name: 'main' });
        return ci;
      };
      const ci = await fill(team);
      const foreign = await fill(await test.createTeam());
      const admin = encodeURIComponent(team.admin.email);
      const cases: Record<string, string> = {
        '': 'a6 a5 a4 d3 d2 d1',
        'kind=dns': 'd3 d2 d1',
        'kind=cluster': 'a4',
        'action=dns.create': 'd1',
        'action=connection.replace': 'a6',
        'action=create': '',
        'outcome=refused': 'a5 d2',
        'outcome=observed': 'd3',
        'name=web': 'a5 a4 d3 d1',
        'type=A': 'd3 d1',
        'type=a': '',
        'token=ci': 'd1',
        [`token=${ci}`]: 'd1',
        [`token=${foreign}`]: '',
        'actor=token': 'd2 d1',
        'actor=upstream': 'd3',
        'actor=user': 'a5 a4',
        'actor=service': 'a6',
        [`actor=${admin}`]: 'a4',
        'request_id=request-1': 'a4 d1',
        [`from=${minute(3).toISOString()}&to=${minute(5).toISOString()}`]: 'a4 d3',
        'name=web&kind=dns&type=A&outcome=completed&actor=token&token=ci': 'd1',
        'name=web&kind=kubeconfig&actor=user&outcome=refused': 'a5',
        'token=ci&outcome=refused': '',
        'token=other&type=TXT&action=dns.delete': 'd2',
        'actor=token&outcome=refused&type=TXT': 'd2',
        [`kind=cluster&actor=${admin}&outcome=completed`]: 'a4',
        [`name=web&from=${minute(2).toISOString()}`]: 'a5 a4 d3',
      };
      const namesOf = (ids: string[]) => ids.map((id) => (names.get(id) ?? id).replace(` ${team.slug}`, '')).join(' ');

      for (const [query, expected] of Object.entries(cases)) {
        const listed: string[] = [];
        for (let next: string | null = ''; next !== null; ) {
          const page = await list(`${query}&limit=2${next === '' ? '' : `&cursor=${next}`}`);
          listed.push(...idsOf(page));
          next = page.next;
        }
        const { text } = await team.asAdmin.get(`/audit/export/?${query}`).expect(200);
        const exported = text
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line).id);

        expect([query, namesOf(listed), namesOf(exported)]).toEqual([query, expected, expected]);
      }
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
  });
});

describe('audit export', () => {
  /** Number of DNS entries. Their bodies have 9 MB, far more than the connection buffers. */
  const ENTRIES = 3_000;

  let big: TestTeam;
  let other: TestTeam;
  let server: Served;
  const running = new Set<ServerResponse>();
  const app = express().use((req, res, next) => {
    running.add(res);
    res.once('close', () => running.delete(res));
    test.app(req, res, next);
  });
  beforeAll(async () => {
    [big, other] = [await test.createTeam('big'), await test.createTeam('other')];
    server = await listen(app);
    const tokenId = await givenToken(test, big, 'ci');
    const client = new pg.Client({ connectionString: test.databaseUrl });
    await client.connect();
    await client.query(`SET session_replication_role = replica`); // skips foreign keys, which do not matter here
    await client.query(
      `INSERT INTO dns_audit_entry (team_id, actor, token_id, zone_id, name, type, operation, state, request_body,
                                  upstream_status, upstream_body, created_at)
     SELECT $1, 'token', $2, $3, 'n' || n, 'A', 'create', 'completed', '{"records":[{"value":"' || repeat('x', 3000) || '"}]}',
            201, '{"action":{"id":' || n || '}}', timestamptz '2020-01-02' + n / 3 * interval '1 ms'
     FROM generate_series(1, $4::int) AS n`,
      [big.id, tokenId, ZONE_ID, ENTRIES],
    );
    await client.query(
      `INSERT INTO audit_entry (team_id, action, target_kind, target_id, target_name, created_at)
     SELECT $1, 'cluster.declare', 'Cluster', gen_random_uuid(), 'c' || n,
            timestamptz '2020-01-02' + n * interval '1 ms'
     FROM generate_series(1, $2::int) AS n`,
      [big.id, ENTRIES / 10],
    );
    await client.query('ANALYZE');
    await client.end();
  });
  afterAll(() => server.close());
  afterEach(async () => {
    jest.restoreAllMocks();
    // A team may run two exports, so aborted ones must have ended before the next test.
    await waitFor('every export to end', () => running.size === 0);
  });

  /** Starts an export over a real connection without reading its body. */
  async function startExport(team: TestTeam, query = ''): Promise<IncomingMessage> {
    const path = team.path(`/audit/export/?${query}`);
    const [answer] = await once(get(`${server.url}${path}`, { headers: { cookie: team.admin.cookie } }), 'response');
    return answer as IncomingMessage;
  }

  async function textOf(answer: IncomingMessage): Promise<string> {
    let text = '';
    for await (const chunk of answer.setEncoding('utf8')) text += chunk;
    return text;
  }

  describe('an export', () => {
    it('is a file with one entry per line', async () => {
      const answer = await startExport(big, 'to=2020-01-02T00:00:00.002Z');
      const lines = (await textOf(answer)).trimEnd().split('\n');

      expect(answer.statusCode).toBe(200);
      expect(answer.headers).toMatchObject({
        'content-type': 'application/x-ndjson; charset=utf-8',
        'content-disposition': 'attachment; filename="audit-big.ndjson"',
        'cache-control': 'no-store',
      });
      expect(lines.map((line) => JSON.parse(line).target.name)).toEqual(['c1', 'n5', 'n4', 'n3', 'n2', 'n1']);
    });

    it('contains every entry once and in order', async () => {
      const text = await textOf(await startExport(big));
      const entries = text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      const times = entries.map(({ createdAt }) => createdAt);
      const names = new Set(entries.flatMap(({ target }) => (target.kind === 'Rrset' ? [target.name] : [])));

      // One more entry: the token that the test created.
      expect([entries.length, names.size]).toEqual([ENTRIES + ENTRIES / 10 + 1, ENTRIES]);
      expect(times).toEqual([...times].sort().reverse());
    });
  });

  describe('an export that cannot be finished', () => {
    it('answers a problem before its first line', async () => {
      jest.spyOn(test.db, '$queryRaw').mockImplementation(() => {
        throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
      });

      const { body } = await big.asAdmin.get('/audit/export/').expect(503);

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

      const answer = await startExport(big);

      await expect(textOf(answer)).rejects.toThrow('aborted');
      expect(answer.complete).toBe(false);
    });
  });

  it('concurrent exports are limited to two per team, and a disconnect allows another', async () => {
    const [first, second] = [await startExport(big), await startExport(big)];

    const refused = await big.asAdmin.get('/audit/export/').expect(429);
    const another = await startExport(other);
    first.destroy();
    const next = await waitFor('room for one more', async () => {
      const answer = await startExport(big);
      if (answer.statusCode === 200) return answer;
      answer.destroy();
      return null;
    });

    expect(refused.body.code).toBe('rate_limit_exceeded');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(another.statusCode).toBe(200);
    for (const answer of [second, next, another]) answer.destroy();
  });
});
