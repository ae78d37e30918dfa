import { randomBytes, randomUUID } from 'node:crypto';
import { aClusterSpec, aPool as aDeclaredPool } from '@corral/cluster-data/testing';
import type { ClusterSpec, NodePoolSpec, ObservedCluster } from '@corral/contracts';
import type { Pool } from '@corral/database';
import { deleteRows } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { counterStore, recordUsage } from '../src/upkeep/record-usage.js';
import { clusterUsageOf, sampleStore, type UsedCluster } from '../src/upkeep/usage.js';
import { type ClusterRows, openClusterRows, type TestTeam } from './support/cluster-rows.js';

describe('recording', () => {
  const ZONE_ID = 7001;
  const on = (time: string): Date => new Date(`2026-11-24T${time}Z`);

  let at: ClusterRows;
  let acme: TestTeam;
  beforeAll(async () => {
    at = await openClusterRows();
  });
  afterAll(() => at.close());
  beforeEach(async () => {
    await deleteRows(at.pool);
    await add(`INSERT INTO dns_zone (id, name, body, synced_at) VALUES ($1, 'example.test', '{}', now())`, [ZONE_ID]);
    acme = await givenTeam('acme');
  });

  const add = (text: string, values: unknown[] = []) => at.pool.query(text, values);

  async function givenTeam(slug: string, createdAt = '2026-01-01T00:00Z'): Promise<TestTeam> {
    const team = await at.addTeam(slug);
    await add('UPDATE team SET created_at = $2 WHERE id = $1', [team.id, createdAt]);
    return team;
  }
  const givenRequests = (team: TestTeam, time: string, count: number) =>
    add('INSERT INTO dns_request_count (team_id, minute, process_id, count) VALUES ($1, $2, $3, $4)', [
      team.id,
      on(time),
      randomUUID(),
      count,
    ]);
  interface Written {
    readonly state?: string;
    readonly count?: number;
    readonly foundApplied?: boolean;
    readonly type?: string;
    readonly actor?: string;
  }
  async function givenWrite(
    team: TestTeam,
    time: string,
    { state = 'completed', count = 1, foundApplied, type = 'A', actor = 'token' }: Written = {},
  ) {
    const tokenId = actor === 'token' ? await givenToken(team) : null;
    await add(
      `INSERT INTO dns_audit_entry (team_id, actor, token_id, zone_id, name, type, operation, state, count, found_applied,
                                  lease_until, created_at)
     VALUES ($1, $2::dns_actor, $3, $4, $5, $6, 'create', $7::dns_audit_state, $8, $9, now(), $10)`,
      [team.id, actor, tokenId, ZONE_ID, randomUUID(), type, state, count, foundApplied ?? null, on(time)],
    );
  }
  /** Adds a revoked token, which the counts of tokens leave out. */
  async function givenToken(team: TestTeam): Promise<string> {
    const { rows } = await add(
      `INSERT INTO dns_token (team_id, name, hash, scopes, revoked_at) VALUES ($1, 'ci', $2, '{dns}', now()) RETURNING id`,
      [team.id, randomBytes(32)],
    );
    return rows[0].id;
  }
  const givenRrset = (owner: string, records: number) =>
    add(
      `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body) VALUES ($1, $2, 'A', $3, $4, '{}')`,
      [ZONE_ID, randomUUID(), owner, records],
    );

  const never = new AbortController().signal;
  const record = (time: string, { pool = at.pool as Pool, signal = never, recordsLimit = 200 } = {}) =>
    recordUsage({
      counters: counterStore(pool),
      samples: sampleStore({ pool, prisma: at.prisma }),
      now: async () => on(time),
      recordsLimit,
      onRecorded: () => undefined,
    })(signal);

  /** Times as `HH:MI`. */
  const hoursOf = async ({ id }: TestTeam) =>
    (
      await at.pool.query(
        `SELECT to_char(hour AT TIME ZONE 'UTC', 'HH24:MI') AS hour, requests, writes, refused_writes AS refused, records,
              is_final AS final
       FROM usage_hour WHERE team_id = $1 ORDER BY usage_hour.hour`,
        [id],
      )
    ).rows;

  describe('a recording of usage', () => {
    it('has the requests and writes of the hour so far, and what the team has now', async () => {
      await givenRequests(acme, '10:00', 4);
      await givenRequests(acme, '10:00', 5);
      await givenRequests(acme, '10:59', 1);
      await givenRequests(acme, '09:59', 100);
      await givenWrite(acme, '10:01');
      await givenWrite(acme, '10:02', { state: 'settled', foundApplied: true });
      await givenWrite(acme, '10:03', { state: 'settled', foundApplied: false });
      await givenWrite(acme, '10:04', { state: 'refused' });
      await givenWrite(acme, '10:05', { state: 'unsent', count: 7 });
      await givenWrite(acme, '10:06', { state: 'observed', actor: 'upstream' });
      await givenWrite(acme, '10:07', { type: 'DEMO' });
      await givenWrite(acme, '10:08', { state: 'pending' });
      await givenRrset('acme', 3);
      await givenRrset('acme', 4);
      await givenRrset('other', 50);

      expect(await record('10:59:30', { recordsLimit: 150 })).toBe(1);

      const { rows } = await add('SELECT * FROM usage_hour');
      expect(rows).toEqual([
        {
          team_id: acme.id,
          hour: on('10:00'),
          counted_at: on('10:59:30'),
          is_final: false,
          requests: 10,
          writes: 2,
          refused_writes: 9,
          sampled_at: on('10:59:30'),
          records: 7,
          records_limit: 150,
          dns_tokens: 0,
          clusters: 0,
          nodes: 0,
          cost_minimum: '0',
          cost_maximum: '0',
          cost_currency: null,
        },
      ]);
    });

    it('counts DNS tokens that are in force and kept', async () => {
      const token = (more: Readonly<Record<string, unknown>>) => {
        const columns = { team_id: acme.id, name: 'ci', hash: randomBytes(32), scopes: ['dns'], ...more };
        const places = Object.keys(columns).map((_column, index) => `$${index + 1}`);
        return add(`INSERT INTO dns_token (${Object.keys(columns)}) VALUES (${places})`, Object.values(columns));
      };
      await token({});
      await token({ expires_at: on('11:00') });
      await token({ expires_at: on('10:30') });
      await token({ revoked_at: on('10:00') });
      const { rows } = await add(`INSERT INTO app_user (email) VALUES ('ada@acme.test') RETURNING id`);
      await token({ session_id: randomUUID(), created_by: rows[0].id, expires_at: on('11:00') });

      await record('10:30');

      expect((await add('SELECT dns_tokens FROM usage_hour')).rows).toEqual([{ dns_tokens: 2 }]);
    });

    async function givenPricedCluster() {
      const connection = await at.addConnection(acme);
      await add(`INSERT INTO price_list (connection_id, currency, priced_at, prices) VALUES ($1, 'EUR', now(), $2)`, [
        connection,
        JSON.stringify({
          serverTypes: { cpx31: { fsn1: { hourly: '0.1', monthly: '13.10' } } },
          primaryIpv4: { fsn1: { hourly: '0.001', monthly: '0.5' } },
        }),
      ]);
      return at.declare(acme, connection, { pools: [{ name: 'general', minimum: 2, maximum: 3 }] });
    }

    it('adds up clusters, their nodes and their cost', async () => {
      const cluster = await givenPricedCluster();
      await add(`UPDATE cluster SET node_counts = '{"general":{"ready":1,"total":2}}' WHERE id = $1`, [cluster.id]);

      await record('10:30');

      expect(
        (await add('SELECT clusters, nodes, cost_minimum, cost_maximum, cost_currency FROM usage_hour')).rows,
      ).toEqual([{ clusters: 1, nodes: 2, cost_minimum: '27.2', cost_maximum: '40.8', cost_currency: 'EUR' }]);
    });

    it('adds what a cluster saves while it sleeps, once for all replicas, and an hour at most after a gap', async () => {
      const { id } = await givenPricedCluster();
      const phase = (name: string) => add('UPDATE cluster SET phase = $2 WHERE id = $1', [id, name]);
      const recorded = async (...times: string[]) => {
        for (const time of times) await Promise.all([record(time), record(time)]);
        const { rows } = await add('SELECT saved_amount, saved_currency, saved_since FROM cluster');
        return rows[0];
      };

      expect(await recorded('10:00')).toMatchObject({ saved_amount: null });
      await phase('Hibernated');
      expect(Number((await recorded('10:05')).saved_amount)).toBe(0);
      await recorded('10:10', '11:05', '10:50', '16:05');
      await phase('Ready');
      await recorded('16:10', '16:30');
      await phase('Hibernated');
      const { saved_amount, ...saved } = await recorded('16:40', '16:45');

      expect(saved).toEqual({ saved_currency: 'EUR', saved_since: on('10:05') });
      // Two nodes, 13.60 each in a month of 730 hours: one hour, one of the gap, and five minutes.
      expect(Number(saved_amount)).toBeCloseTo(((2 + 1 / 12) * 27.2) / 730, 6);
    });

    it('records every team, with its own values only', async () => {
      const teams = await Promise.all(Array.from({ length: 230 }, (_, number) => givenTeam(`t-${number}`)));
      const last = teams[117] as TestTeam;
      await givenRequests(last, '10:10', 3);

      expect(await record('10:30')).toBe(231);

      expect((await hoursOf(last))[0]?.requests).toBe(3);
      expect((await add('SELECT sum(requests)::int AS sum, count(*)::int FROM usage_hour')).rows).toEqual([
        { sum: 3, count: 231 },
      ]);
    });

    it('begins with the hour in which a team was created', async () => {
      await record('08:30');
      const late = await givenTeam('late', '2026-11-24T09:30Z');
      await givenRequests(acme, '08:10', 1);
      await givenRequests(acme, '09:10', 1);

      await record('10:30');

      expect((await hoursOf(late)).map(({ hour }) => hour)).toEqual(['09:00', '10:00']);
    });
  });

  describe('an hour', () => {
    it('gets its last requests, then is final and never changes', async () => {
      await givenRequests(acme, '10:10', 1);
      await record('10:30');
      await givenRequests(acme, '10:59', 2);
      await record('11:02');
      expect(await hoursOf(acme)).toMatchObject([{ hour: '10:00', requests: 3, final: false }, { hour: '11:00' }]);

      await record('11:03');
      await givenRequests(acme, '10:20', 100);
      await record('11:10');

      expect(await hoursOf(acme)).toMatchObject([
        { hour: '10:00', requests: 3, final: true },
        { requests: 0, final: false },
      ]);
    });

    it('stays open while the outcome of a write is unknown, for most of a day at the most', async () => {
      await record('00:30');
      await givenWrite(acme, '00:40', { state: 'pending' });
      await record('01:30');
      expect((await hoursOf(acme))[0]).toMatchObject({ writes: 0, final: false });

      await record('21:00');
      expect((await hoursOf(acme))[0]).toMatchObject({ writes: 0, final: true });
    });

    it('has the outcome of a write that became known late', async () => {
      await record('10:30');
      await givenWrite(acme, '10:40', { state: 'pending' });
      await record('11:30');
      await add(`UPDATE dns_audit_entry SET state = 'completed'`);

      await record('12:30');

      expect((await hoursOf(acme))[0]).toMatchObject({ writes: 1, final: true });
    });

    it('keeps the latest sample when a slow process writes an older one', async () => {
      await givenRrset('acme', 3);
      await record('10:40');
      await givenRrset('acme', 4);

      await record('10:30');

      expect((await hoursOf(acme))[0]?.records).toBe(3);
    });

    it('keeps requests that were added up to its end, while it waits for a write', async () => {
      await record('02:30');
      await givenRequests(acme, '02:40', 5);
      await givenWrite(acme, '02:41', { state: 'pending' });
      await record('03:10');
      await add(`UPDATE dns_audit_entry SET state = 'completed'`);

      await record('10:30');

      expect((await hoursOf(acme))[0]).toEqual({
        hour: '02:00',
        requests: 5,
        writes: 1,
        refused: 0,
        records: 0,
        final: true,
      });
    });

    it('is added up late when the recorder did not run, without a state that nobody read', async () => {
      await record('07:30');
      await givenRequests(acme, '08:10', 5);
      await givenWrite(acme, '08:10');

      await record('10:30');

      expect(await hoursOf(acme)).toEqual([
        { hour: '07:00', requests: 0, writes: 0, refused: 0, records: 0, final: true },
        { hour: '08:00', requests: 5, writes: 1, refused: 0, records: null, final: true },
        { hour: '10:00', requests: 0, writes: 0, refused: 0, records: 0, final: false },
      ]);
    });
  });

  it('recordings of several replicas at the same time are as one', async () => {
    const all = async () => (await add('SELECT * FROM usage_hour ORDER BY team_id, hour')).rows;
    await givenTeam('globex');
    await givenRequests(acme, '10:10', 3);
    await givenWrite(acme, '10:10');
    await record('10:30');
    const alone = await all();
    await add('DELETE FROM usage_hour');

    await Promise.all(Array.from({ length: 6 }, () => record('10:30')));

    expect(await all()).toEqual(alone);
  });
});

describe('the usage of clusters', () => {
  /** The pool has no addresses, because the list lacks their prices. */
  const aPool = (more: Partial<NodePoolSpec> = {}): NodePoolSpec => aDeclaredPool({ publicIP: false, ...more });
  const spec = (nodePools: readonly NodePoolSpec[]): ClusterSpec => aClusterSpec({ nodePools: [...nodePools] });
  const prices = (currency = 'EUR'): UsedCluster['prices'] => ({
    currency,
    pricedAt: new Date(0),
    prices: { serverTypes: { cpx31: { hel1: { hourly: '0.1', monthly: '13.10' } } }, primaryIpv4: {} },
  });
  const withServer = { kubernetes: null, apiServer: 'https://api.test', nodePools: [], maintenance: null };
  const aCluster = (more: Partial<UsedCluster> = {}): UsedCluster => ({
    spec: spec([aPool()]),
    prices: prices(),
    phase: 'Ready',
    observed: withServer as unknown as ObservedCluster,
    nodeCounts: { general: { ready: 1, total: 2 } },
    ...more,
  });

  it('is the exact sum over all clusters', () => {
    expect(clusterUsageOf([aCluster(), aCluster({ spec: spec([aPool({ maximum: 1 })]) })])).toEqual({
      clusters: 2,
      nodes: 4,
      cost: { minimum: '26.2', maximum: '52.4', currency: 'EUR' },
    });
  });

  it.each<[string, Partial<UsedCluster>, number | null]>([
    ['unknown while a cluster with an API server has not answered', { nodeCounts: null }, null],
    ['zero for a hibernated cluster', { nodeCounts: null, phase: 'Hibernated' }, 0],
    ['zero before there is an API server', { nodeCounts: null, observed: null }, 0],
    ['zero for a cluster without pools', { nodeCounts: {} }, 0],
  ])('has a number of nodes that is %s', (_what, more, nodes) => {
    expect(clusterUsageOf([aCluster(more)]).nodes).toBe(nodes);
  });

  it.each<[string, UsedCluster[]]>([
    ['one price list was never read', [aCluster(), aCluster({ prices: null })]],
    ['one machine type has no price', [aCluster(), aCluster({ spec: spec([aPool({ machineType: 'none' })]) })]],
    ['the clusters have prices in two currencies', [aCluster(), aCluster({ prices: prices('USD') })]],
  ])('has an unknown cost when %s', (_what, clusters) => {
    expect(clusterUsageOf(clusters).cost).toBeNull();
  });
});
