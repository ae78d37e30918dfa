import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { clusterVerdictsOf, dnsStrangerVerdictOf, renderAccess } from './access.js';
import { type ClusterRoute, clusterRoutes } from './cluster/routes.js';
import { type DnsRoute, dnsRoutes } from './dns/routes.js';

const file = new URL('../../../docs/access.md', import.meta.url);
const HOW = 'CORRAL_WRITE_DOCS=1 npm test -- contracts access';

describe('the table of who gets what', () => {
  it(`is in docs/access.md as the route tables make it; after a change of those: ${HOW}`, () => {
    if (process.env.CORRAL_WRITE_DOCS) writeFileSync(file, renderAccess());

    expect(readFileSync(file, 'utf8')).toBe(renderAccess());
  });

  it('serves nobody without a session but what is public', () => {
    for (const route of clusterRoutes as readonly ClusterRoute[]) {
      expect([route.path, clusterVerdictsOf(route).nobody === 'served']).toEqual([
        route.path,
        route.access === 'public',
      ]);
    }
  });

  it('knows a team in every path that is for members or administrators only', () => {
    for (const { path, access } of clusterRoutes as readonly ClusterRoute[]) {
      expect([path, access]).toEqual([
        path,
        /\{team(_slug|_id)?\}/.test(path)
          ? expect.stringMatching(/^(member|admin)$/)
          : expect.not.stringMatching(/^(member|admin)$/),
      ]);
    }
  });

  it('shares nothing of the DNS API but the zone', () => {
    const shared = (dnsRoutes as readonly DnsRoute[]).filter((route) => dnsStrangerVerdictOf(route) === 'shared');

    expect(shared.map(({ operationId }) => operationId)).toEqual(['listZones', 'getZone']);
  });
});
