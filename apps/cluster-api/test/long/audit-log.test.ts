import type { AuditEntryBody } from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
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
