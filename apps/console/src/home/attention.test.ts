import type { Cluster, Connection, DnsTokenBody, DnsUsageBody } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { attentionOf, type HomeFacts } from './attention.js';

const now = Date.UTC(2026, 10, 22);
const DAY_MS = 86_400_000;
const inDays = (days: number) => new Date(now + days * DAY_MS).toISOString();

/** The members that matter here. */
const cluster = (name: string, status: object, connectionRef = 'main') =>
  ({
    metadata: { name },
    spec: { connectionRef, nodePools: [] },
    status: { phase: 'Ready', conditions: [], lastOperation: null, kubernetes: null, ...status },
  }) as unknown as Cluster;
const connection = (phase: string) =>
  ({
    metadata: { ref: 'main', name: 'Main' },
    status: { phase, message: 'The provider rejects the token.' },
  }) as unknown as Connection;
const token = (changes: object) =>
  ({ id: '1', name: 'ci', state: 'active', expiresAt: null, lastUsedAt: null, ...changes }) as unknown as DnsTokenBody;
const usage = (used: number, limit: number) =>
  ({ records: { used, reserved: 0, limit }, tokens: { active: 1, limit: 5 } }) as unknown as DnsUsageBody;

const failed = (error: object) => ({ lastOperation: { state: 'failed', error } });

describe('what needs attention', () => {
  it('is nothing when all is well, or not loaded yet', () => {
    expect(attentionOf({}, now)).toEqual([]);
    expect(
      attentionOf({ clusters: [cluster('web', {})], connections: [connection('Ready')], usage: usage(1, 200) }, now),
    ).toEqual([]);
  });

  it('is a failed operation, with what can be done about it', () => {
    const retryable = cluster('web', failed({ message: 'No room.', retryable: true }));
    const final = cluster('db', failed({ message: 'Wrong.', retryable: false }));
    expect(attentionOf({ clusters: [retryable, final] }, now)).toMatchObject([
      { subject: 'web', detail: 'No room.', action: 'Fix and retry', to: '/clusters/web' },
      { subject: 'db', detail: 'Wrong.', action: 'Show cluster' },
    ]);
  });

  const conditions = [{ type: 'NodesReady', status: 'False', message: 'One node is not ready.' }];
  const pools = { nodePools: [{ name: 'metal', nodes: { ready: 0, total: 0 } }] };
  const metal = { ...cluster('web', pools), spec: { nodePools: [{ name: 'metal', source: 'dedicated', maximum: 1 }] } };
  const dangling = ['www.acme', 'api.acme'].map((name) => ({
    zone: 'example.test',
    name,
    type: 'A' as const,
    values: ['192.0.2.1'],
    goneAt: inDays(-1),
    reason: 'It was a node.',
  }));
  it.each<[string, HomeFacts, object]>([
    [
      'a degraded cluster, with the condition that is broken',
      { clusters: [cluster('web', { phase: 'Degraded', conditions })] },
      { tone: 'warning', kind: 'Degraded', detail: 'One node is not ready.' },
    ],
    [
      'a pool whose machines have not joined',
      { clusters: [metal as unknown as Cluster] },
      { tone: 'warning', subject: 'web', detail: 'metal waits for 1 machine.', to: '/clusters/web' },
    ],
    [
      'a record set that leads to an address which is gone',
      { dangling: dangling.slice(0, 1) },
      { subject: 'www.acme A', detail: expect.stringContaining('It was a node.'), to: '/dns/records/www.acme/A' },
    ],
    [
      'one entry for several of them',
      { dangling },
      { detail: expect.stringContaining('1 other record set'), to: '/dns/records' },
    ],
    [
      'a rejected connection, with the number of clusters that wait',
      {
        clusters: [cluster('a', {}), cluster('b', {}), cluster('c', {}, 'other')],
        connections: [connection('Rejected')],
      },
      { subject: 'Main', detail: 'The provider rejects the token. 2 clusters wait.', to: '/connections/main' },
    ],
  ])('is %s', (_what, facts, entry) => {
    expect(attentionOf(facts, now)).toMatchObject([entry]);
  });

  const ending = (days: number) => cluster('web', { kubernetes: { version: '1.34.3', supportedUntil: inDays(days) } });
  it.each<[HomeFacts, string[]]>([
    [{ clusters: [ending(59)] }, ['Version ends']],
    [{ clusters: [ending(61)] }, []],
    [{ clusters: [ending(-1)] }, ['Unsupported']],
    [{ tokens: [token({ expiresAt: inDays(13) })] }, ['Token expires']],
    [{ tokens: [token({ expiresAt: inDays(15) })] }, []],
    [{ tokens: [token({ expiresAt: null })] }, []],
    [{ tokens: [token({ expiresAt: inDays(-1), state: 'expired' })] }, []],
    [{ usage: usage(160, 200) }, []],
    [{ usage: usage(161, 200) }, ['80 % used']],
    [{ usage: usage(0, 0) }, []],
  ])('includes what is about to end or full: %#', (facts, kinds) => {
    expect(attentionOf(facts, now).map(({ kind }) => kind)).toEqual(kinds);
  });

  it('begins with failures, and warnings follow', () => {
    const facts = { usage: usage(200, 200), clusters: [cluster('web', failed({ message: 'x', retryable: false }))] };

    expect(attentionOf(facts, now).map(({ tone }) => tone)).toEqual(['bad', 'warning']);
  });
});
