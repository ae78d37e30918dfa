import { type AuditEntryBody, asTeamId } from '@corral/contracts';
import { type Sql, sql, type Transaction } from '@corral/database';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { apiAudit } from '../../src/audit/api-store.js';
import { dnsAudit } from '../../src/audit/dns-store.js';
import { type AuditFilters, type AuditSource, noFilters } from '../../src/audit/log.js';
import { givenApiEntry, givenDnsEntry, givenToken, givenZone } from '../support/given-audit.js';
import { recordedLog } from '../support/recorded-log.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

const recorded = recordedLog();
let test: TestClusterApi;
beforeAll(async () => {
  test = await startClusterApi({ log: recorded.log });
  await givenZone(test);
});
afterAll(() => test.close());

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
        requestId: [null, 'request-1', 'request-2'][at % 5] ?? null,
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
        requestId: [null, 'request-1', 'request-2'][at % 5] ?? null,
        detail: [{}, { issued: true }, { issued: false }][(at >> 2) % 3] as object,
        createdAt: minutes(at % 11),
      });
    }
  }

  type Filters = Partial<
    Record<'kind' | 'action' | 'outcome' | 'name' | 'type' | 'token' | 'actor' | 'request_id' | 'from' | 'to', string>
  >;

  /** A second implementation of the filters. */
  function admits(
    { kind, action, outcome, name, type, token, actor, request_id: requestId, from, to }: Filters,
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
      (requestId === undefined || entry.requestId === requestId) &&
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
        request_id: word('request-1', 'request-2', 'request-3'),
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

describe('the plan of a page', () => {
  const ENTRIES = 20_000;
  const READ_MAX = 2_000;
  const TEAM = asTeamId('00000000-0000-4000-8000-00000000000a');

  beforeAll(async () => {
    await test.pool.query(`
    INSERT INTO team (id, slug) VALUES ('${TEAM}', 'long');
    INSERT INTO app_user (id, email) VALUES ('${TEAM}', 'much@long.test'), (gen_random_uuid(), 'rare@long.test');
    INSERT INTO dns_token (team_id, name, hash, scopes)
    SELECT '${TEAM}', name, sha256(('long ' || name)::bytea), '{dns}' FROM unnest('{much,rare}'::text[]) AS name;
    INSERT INTO dns_audit_entry (team_id, actor, token_id, zone_id, name, type, operation, state, created_at, request_id)
    SELECT '${TEAM}', 'token', (SELECT id FROM dns_token WHERE team_id = '${TEAM}' AND name = word), 7001, word,
           CASE word WHEN 'rare' THEN 'CNAME' ELSE 'A' END, CASE word WHEN 'rare' THEN 'delete' ELSE 'create' END,
           CASE word WHEN 'rare' THEN 'refused' ELSE 'completed' END::dns_audit_state, now() + n * interval '1 ms', word
    FROM (SELECT n, CASE n WHEN 1 THEN 'rare' ELSE 'much' END AS word FROM generate_series(1, ${ENTRIES}) AS n) AS numbered;
    INSERT INTO audit_entry (team_id, user_id, operator, action, target_kind, target_id, target_name, detail, created_at, request_id)
    SELECT '${TEAM}', CASE WHEN n <> 2 THEN (SELECT id FROM app_user WHERE email = word || '@long.test') END,
           CASE n WHEN 2 THEN 'ada' END,
           CASE word WHEN 'rare' THEN 'kubeconfig.issue' ELSE 'cluster.declare' END, 'Cluster', '${TEAM}', word,
           '{"issued": false}', now() + n * interval '1 ms', word
    FROM (SELECT n, CASE n WHEN 1 THEN 'rare' ELSE 'much' END AS word FROM generate_series(1, ${ENTRIES}) AS n) AS numbered;
    ANALYZE`);
  });

  interface PlanNode {
    readonly 'Relation Name'?: string;
    readonly 'Actual Rows': number;
    readonly 'Actual Loops': number;
    readonly 'Rows Removed by Filter'?: number;
    readonly Plans?: readonly PlanNode[];
  }

  const rowsRead = (node: PlanNode): number =>
    (node['Relation Name'] === undefined
      ? 0
      : (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']) +
    (node.Plans ?? []).reduce((sum, plan) => sum + rowsRead(plan), 0);

  async function readPage(source: AuditSource, filters: Partial<AuditFilters>) {
    let read = 0;
    const counting = {
      async $queryRaw(parts: TemplateStringsArray | Sql, ...given: unknown[]) {
        const { text, values } = 'raw' in parts ? sql(parts, ...given) : parts;
        const { rows } = await test.pool.query<{ 'QUERY PLAN': readonly [{ Plan: PlanNode }] }>(
          `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
          values,
        );
        read += rowsRead((rows[0] as (typeof rows)[number])['QUERY PLAN'][0].Plan);
        return (await test.pool.query(text, values)).rows;
      },
    } as unknown as Transaction;
    const log = { api: apiAudit, dns: dnsAudit }[source](counting as Parameters<typeof apiAudit>[0]);
    const page = await log({
      teamId: TEAM,
      filters: { ...noFilters, ...filters },
      after: null,
      limit: 50,
    });
    return { found: page.records.length, read };
  }

  describe('a page of a long audit log', () => {
    it.each<[string, AuditSource, Partial<AuditFilters>]>([
      ['of a record set', 'dns', { name: 'rare' }],
      ['of a token', 'dns', { token: 'rare' }],
      ['of a request', 'dns', { requestId: 'rare' }],
      ['of a call', 'api', { requestId: 'rare', outcome: 'refused' }],
      ['of a type', 'dns', { type: 'CNAME' }],
      ['of a DNS action', 'dns', { action: 'dns.delete' }],
      ['of an outcome of DNS writes', 'dns', { outcome: 'refused' }],
      ['of a token and an outcome', 'dns', { token: 'rare', outcome: 'refused' }],
      ['of a target', 'api', { name: 'rare' }],
      ['of a person', 'api', { actor: 'rare@long.test' }],
      ['of operators', 'api', { actor: 'operator' }],
      ['of an action', 'api', { action: 'kubeconfig.issue' }],
      ['of a kind', 'api', { kind: 'kubeconfig' }],
      ['of an outcome', 'api', { outcome: 'refused' }],
    ])('%s finds the only entry without reading the others', async (_what, source, filters) => {
      const { found, read } = await readPage(source, filters);

      expect(found).toBe(1);
      expect(read).toBeLessThan(READ_MAX);
    });

    it.each<[string, AuditSource, Partial<AuditFilters>]>([
      ['without filters', 'dns', {}],
      ['without filters', 'api', {}],
      ['of what most entries have', 'dns', { outcome: 'completed', type: 'A' }],
      ['of what most entries have', 'api', { actor: 'user', kind: 'cluster' }],
    ])('%s stops when it is full (%s)', async (_what, source, filters) => {
      const { found, read } = await readPage(source, filters);

      expect(found).toBe(50);
      expect(read).toBeLessThan(READ_MAX);
    });

    it.each<[string, AuditSource, Partial<AuditFilters>]>([
      ['DNS writes', 'dns', { action: 'cluster.declare' }],
      ['DNS writes', 'dns', { actor: 'operator' }],
      ['calls of this API', 'api', { action: 'dns.create' }],
      ['calls of this API', 'api', { outcome: 'settled' }],
      ['calls of this API', 'api', { actor: 'upstream' }],
    ])('does not read the log of %s for what it cannot contain', async (_what, source, filters) => {
      expect(await readPage(source, filters)).toEqual({ found: 0, read: 0 });
    });
  });
});
