import { createHash, randomUUID } from 'node:crypto';
import { refusedWrites } from '@corral/dns-data';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { givenApiEntry, givenDnsEntry, givenToken, givenZone, ZONE, ZONE_ID } from '../support/given-audit.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

let test: TestClusterApi;
let team: TestTeam;
beforeAll(async () => {
  test = await startClusterApi();
  await givenZone(test);
});
afterAll(() => test.close());
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
    ['characters that no column holds', '\u0000\ud800', '\u0000'],
    ['long texts', 'x'.repeat(16_384), 'y'.repeat(16_384)],
    ['marks of text direction', '\u202e', '\u202e'],
  ])('of a refused write keeps the schema whatever the client called the record set: %s', async (_what, name, type) => {
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
    'outcome=done',
    'from=yesterday',
    'to=2026-11-21',
    'from=2026-02-30T00:00:00Z',
    'limit=0',
    'limit=201',
    'cursor=x',
    'cursor=WyJ4IiwieSJd',
    'name=%00',
    'since=1',
    'kind=dns&kind=cluster',
    `cursor=${Buffer.from('["2026-11-21T12:00:00.000Z","other-1"]').toString('base64url')}`,
    `cursor=${Buffer.from('["2026-11-21T12:00:00.000Z","dns-99999999999999999999"]').toString('base64url')}`,
    `cursor=${Buffer.from('["never","dns-1"]').toString('base64url')}`,
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
