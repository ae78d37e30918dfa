import { assertUsable, type RrsetKey } from '@corral/dns-mirror';
import { type HcloudClient, type ReadOptions, UpstreamUnavailable } from '@corral/hcloud';
import { unlessStopped } from '../loop/unless-stopped.js';

export type RrsetSource = Pick<HcloudClient, 'readRrset' | 'readZone'>;

/**
 * Gives the set's body, or null when it is absent.
 *
 * @throws UpstreamUnavailable, UnusableRrset, Stopped
 */
export type ReadRrset = (key: RrsetKey, purpose: ReadPurpose) => Promise<string | null>;

/** By it a read has its turn at the upstream: see `packages/hcloud`. */
export type ReadPurpose = NonNullable<ReadOptions['purpose']>;

/**
 * Reads single sets for one pass. The upstream says the same of an absent set and of a zone that our token does not
 * reach, as after a change of projects; so absence counts only once the zone itself was seen.
 */
export function upstreamReader(source: RrsetSource, signal: AbortSignal): ReadRrset {
  const seenZones = new Set<number>();
  return async ({ zoneId, name, type }, purpose) => {
    const options = { purpose, signal };
    const rrset = await unlessStopped(() => source.readRrset(zoneId, name, type, options), signal);
    if (rrset.kind === 'found') {
      assertUsable(rrset.body);
      return rrset.body;
    }
    if (!seenZones.has(zoneId)) {
      const zone = await unlessStopped(() => source.readZone(zoneId, options), signal);
      if (zone.kind === 'absent') throw new UpstreamUnavailable(`zone ${zoneId} is not in the upstream project`);
      seenZones.add(zoneId);
    }
    return null;
  };
}
