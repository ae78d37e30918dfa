import { describe, expect, it } from '@jest/globals';
import type { TeamApi } from '../src/clusters/team-api.js';
import { accessFields, planAccess } from '../src/team/access.js';
import type { AccessDocument } from '../src/team/documents.js';
import { totalsOf } from '../src/team/plan-text.js';

/* What a plan of a team compares and sums up. The whole of it is tried in `tests/system/cli`. */

const all = ['read', 'change', 'delete', 'kubeconfig'];
const narrowing = { clusters: ['ci-*'], actions: all, dns: { withinName: 'ci.acme', withinTypes: ['TXT'] } };
const trust = { issuer: 'https://a.test', audience: 'b', claims: { sub: 'x', ref: 'y' }, serviceAccount: 'ci' };
const item = (name: string, spec: object) => ({ metadata: { name, team: 'acme' }, spec });
const api = {
  team: 'acme',
  client: {
    listServiceAccounts: async () => ({ body: { items: [item('ci', { role: 'member', narrowing })] } }),
    listTrustedIssuers: async () => ({ body: { items: [item('git', trust)] } }),
  },
} as unknown as TeamApi;
const account = (name: string, spec: object) => ({ kind: 'ServiceAccount', name, source: 'f', spec }) as AccessDocument;
const issuer = (spec: object) => ({ kind: 'TrustedIssuer', name: 'git', source: 'f', spec }) as AccessDocument;
const planned = async (documents: AccessDocument[], isPruning = false) =>
  (await planAccess(api, documents, isPruning)).map((change) => [
    `${change.kind} ${change.name}`,
    change.to === null ? 'deleted' : accessFields(change).map(({ pointer, to }) => `${pointer} ${JSON.stringify(to)}`),
  ]);

describe('access', () => {
  it.each<[what: string, documents: AccessDocument[], isPruning: boolean, changes: unknown[]]>([
    ['is the same without what stays', [account('ci', { role: 'member' })], false, []],
    ['is the same in another order', [issuer({ ...trust, claims: { ref: 'y', sub: 'x' } })], false, []],
    [
      'changes by the fields that are declared',
      [account('ci', { role: 'viewer', narrowing: { dns: { withinTypes: [] } } })],
      false,
      [['ServiceAccount ci', ['/spec/role "viewer"', '/spec/narrowing/dns/withinTypes []']]],
    ],
    [
      'is not narrowed for a new account',
      [account('new', { role: 'viewer' })],
      false,
      [
        [
          'ServiceAccount new',
          [
            '/spec/role "viewer"',
            '/spec/narrowing/clusters ["*"]',
            `/spec/narrowing/actions ${JSON.stringify(all)}`,
            '/spec/narrowing/dns/withinTypes []',
          ],
        ],
      ],
    ],
    [
      'is pruned of the kinds that are declared',
      [account('new', { role: 'viewer', narrowing })],
      true,
      [
        ['ServiceAccount new', expect.anything()],
        ['ServiceAccount ci', 'deleted'],
      ],
    ],
  ])('%s', async (_what, documents, isPruning, changes) => {
    expect(await planned(documents, isPruning)).toEqual(changes);
  });

  it('of an issuer needs its account, also after pruning', async () => {
    const needed = 'f: Declare the service account ci, too.';

    await expect(planned([issuer(trust), account('new', { role: 'viewer' })], true)).rejects.toThrow(needed);
    await expect(planned([issuer({ ...trust, serviceAccount: 'none' })])).rejects.toThrow('service account none');
    expect(await planned([issuer(trust), account('ci', { role: 'member' })], true)).toEqual([]);
  });
});

it('sums up what changes and deletions cost, by currency, without what nobody knows', () => {
  const monthly = (minimum: string | null, maximum = minimum) => ({ monthly: { minimum, maximum } });
  const change = (currency: string, costDifference: object) => ({
    document: {},
    plan: { cost: { currency }, costDifference },
  });
  const deletion = { resource: { status: { cost: { currency: 'EUR' } } }, costDifference: monthly('-13.6') };
  const clusters = [
    change('EUR', monthly('27.2', '40.8')),
    change('EUR', monthly('0.1', '0.2')),
    change('EUR', monthly(null)),
    change('USD', monthly('5')),
    { cluster: {}, deletion },
  ];

  expect(totalsOf({ clusters: clusters as never, sets: null })).toEqual({
    records: null,
    monthly: [
      { currency: 'EUR', minimum: '13.70', maximum: '27.40' },
      { currency: 'USD', minimum: '5.00', maximum: '5.00' },
    ],
  });
});
