import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { clusterVerdictsOf, dnsStrangerVerdictOf, renderAccess } from './access.js';
import { type ClusterRoute, clusterRoutes } from './cluster/routes.js';
import { type DnsRoute, dnsRoutes } from './dns/routes.js';

const file = new URL('../../../docs/access.md', import.meta.url);
const HOW = 'CORRAL_WRITE_DOCS=1 npm test -- contracts access';

describe('docs/access.md', () => {
  it(`matches the route tables; after changing them, run: ${HOW}`, () => {
    if (process.env.CORRAL_WRITE_DOCS) writeFileSync(file, renderAccess());

    expect(readFileSync(file, 'utf8')).toBe(renderAccess());
  });

  it('serves requests without a session on public routes only', () => {
    for (const route of clusterRoutes as readonly ClusterRoute[]) {
      expect([route.path, clusterVerdictsOf(route).anonymous === 'served']).toEqual([
        route.path,
        route.access === 'public',
      ]);
    }
  });

  it('has a team in every path that asks for a role, and in no other', () => {
    for (const { path, access } of clusterRoutes as readonly ClusterRoute[]) {
      expect([path, access]).toEqual([
        path,
        /\{team(_slug|_id)?\}/.test(path)
          ? expect.stringMatching(/^(viewer|member|admin)$/)
          : expect.not.stringMatching(/^(viewer|member|admin)$/),
      ]);
    }
  });

  it('shares only the zone of the DNS API between teams', () => {
    const shared = (dnsRoutes as readonly DnsRoute[]).filter((route) => dnsStrangerVerdictOf(route) === 'shared');

    expect(shared.map(({ operationId }) => operationId)).toEqual(['listZones', 'getZone']);
  });
});
