import type { ObservedCluster } from '@corral/contracts';
import type { Desired } from '../model.js';
import type { ShootFacts } from '../observe.js';

const DAY_MS = 86_400_000;
/** What is shown before the garden has chosen an image. */
const noImage = { name: null, version: null };

/**
 * What the garden reports about a cluster besides its health, under the team's names. End of support and certificate authority
 * come from elsewhere (the catalogue, and a resource next to the Shoot), so their known values are kept.
 */
export function observedCluster({ pools, known }: Desired, facts: ShootFacts, now: Date): ObservedCluster {
  const { kubernetesVersion: version, apiServerUrl: url, maintenance, workers } = facts;
  const before = known.observed?.kubernetes ?? null;
  const certificateAuthorityData = known.observed?.apiServer?.certificateAuthorityData ?? null;
  return {
    kubernetes: version === null ? null : { version, supportedUntil: supportedBefore(before, version) },
    apiServer: url === null ? null : { url, certificateAuthorityData },
    nodePools: pools.flatMap(({ name, workerName }) => {
      const { name: os, version: release } = workers.find((worker) => worker.name === workerName)?.image ?? noImage;
      return os === null || release === null ? [] : [{ name, image: { name: os, version: release } }];
    }),
    maintenance: {
      next: maintenance.begin === null ? null : nextTimeOf(maintenance.begin, now),
      last: maintenance.last,
    },
  };
}

const supportedBefore = (before: ObservedCluster['kubernetes'], version: string): string | null =>
  before?.version === version ? before.supportedUntil : null;

/**
 * The next start of a daily window.
 *
 * @param begin in Gardener's format: `220000+0100`
 * @returns RFC 3339, or null when `begin` is invalid
 */
export function nextTimeOf(begin: string, now: Date): string | null {
  const parts = /^([01]\d|2[0-3])([0-5]\d)([0-5]\d)([+-])(\d\d)([0-5]\d)$/.exec(begin);
  if (parts === null) return null;
  const [hours, minutes, seconds, , zoneHours, zoneMinutes] = parts.slice(1).map(Number) as [
    ...[number, number, number, number, number, number],
  ];
  const zoneMs = (zoneHours * 60 + zoneMinutes) * 60_000 * (parts[4] === '-' ? -1 : 1);
  const inDayMs = ((hours * 60 + minutes) * 60 + seconds) * 1_000 - zoneMs;
  const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS + inDayMs;
  const days = Math.floor((now.getTime() - today) / DAY_MS) + 1;
  return new Date(today + days * DAY_MS).toISOString();
}
