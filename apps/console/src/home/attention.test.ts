import type { Cluster, Connection, DnsTokenBody, DnsUsageBody } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { attentionOf } from './attention.js';

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

  it('is a degraded cluster, with the condition that is broken', () => {
    const conditions = [{ type: 'NodesReady', status: 'False', message: 'One node is not ready.' }];

    expect(attentionOf({ clusters: [cluster('web', { phase: 'Degraded', conditions })] }, now)).toMatchObject([
      { tone: 'warning', kind: 'Degraded', detail: 'One node is not ready.' },
    ]);
  });

  it('is a pool whose machines have not joined', () => {
    const waiting = {
      ...cluster('web', { nodePools: [{ name: 'metal', nodes: { ready: 0, total: 0 } }] }),
      spec: { nodePools: [{ name: 'metal', source: 'dedicated', maximum: 1 }] },
    } as unknown as Cluster;

    expect(attentionOf({ clusters: [waiting] }, now)).toMatchObject([
      { tone: 'warning', subject: 'web', detail: 'metal waits for 1 machine.', to: '/clusters/web' },
    ]);
  });

  it('is a record set that leads to an address which is gone', () => {
    const set = (name: string) => ({
      zone: 'example.test',
      name,
      type: 'A' as const,
      values: ['192.0.2.1'],
      goneAt: inDays(-1),
      reason: 'It was a node.',
    });
    const [one] = attentionOf({ dangling: [set('www.acme')] }, now);
    const [several] = attentionOf({ dangling: [set('www.acme'), set('api.acme')] }, now);

    expect(one).toMatchObject({ subject: 'www.acme A', to: '/dns/records/www.acme/A' });
    expect(one?.detail).toContain('It was a node.');
    expect(several).toMatchObject({ detail: expect.stringContaining('1 other record set'), to: '/dns/records' });
  });

  it('is a rejected connection, with the number of clusters that wait', () => {
    const clusters = [cluster('a', {}), cluster('b', {}), cluster('c', {}, 'other')];

    expect(attentionOf({ clusters, connections: [connection('Rejected')] }, now)).toMatchObject([
      { subject: 'Main', detail: 'The provider rejects the token. 2 clusters wait.', to: '/connections/main' },
    ]);
  });

  it.each([
    [59, ['Version ends']],
    [61, []],
    [-1, ['Unsupported']],
  ])('includes a Kubernetes version that ends in %d days: %j', (days, kinds) => {
    const web = cluster('web', { kubernetes: { version: '1.34.3', supportedUntil: inDays(days) } });

    expect(attentionOf({ clusters: [web] }, now).map(({ kind }) => kind)).toEqual(kinds);
  });

  it.each([
    [{ expiresAt: inDays(13) }, 1],
    [{ expiresAt: inDays(15) }, 0],
    [{ expiresAt: null }, 0],
    [{ expiresAt: inDays(-1), state: 'expired' }, 0],
  ])('includes a token that is about to expire: %j', (changes, count) => {
    expect(attentionOf({ tokens: [token(changes)] }, now)).toHaveLength(count);
  });

  it.each([
    [160, 200, 0],
    [161, 200, 1],
    [0, 0, 0],
  ])('includes a use of %d of %d records: %d', (used, limit, count) => {
    expect(attentionOf({ usage: usage(used, limit) }, now)).toHaveLength(count);
  });

  it('begins with failures, and warnings follow', () => {
    const facts = { usage: usage(200, 200), clusters: [cluster('web', failed({ message: 'x', retryable: false }))] };

    expect(attentionOf(facts, now).map(({ tone }) => tone)).toEqual(['bad', 'warning']);
  });
});
