import { ZONE } from '../../system/start-system.js';
import { callDns } from '../dns-api.js';
import { held, type Stage } from './stage.js';
import type { WantedSet } from './wanted.js';

/** The owner in `values.yaml`, whose `acme` is the name of the team. */
const ownerOf = ({ team }: Pick<Stage, 'team'>): string => `${team.slug}-production`;

/** What the webhook writes where no TTL is declared. */
export const ZONE_TTL = 3_600;

/**
 * The sets with the registry of ExternalDNS: a text for each set, with the replacement of `*` in its name.
 *
 * @param options `ttl`: of the registry; the default is none of its own
 */
export const registryOf = (wanted: readonly WantedSet[], stage: Pick<Stage, 'team'>, { ttl = 0 } = {}): WantedSet[] => [
  ...wanted,
  ...wanted.map(({ name, type }) => ({
    name: `reg-${type.toLowerCase()}.${name.replace(/^\*/, 'any')}`,
    type: 'TXT' as const,
    ttl,
    values: [`"heritage=external-dns,external-dns/owner=${ownerOf(stage)}"`],
  })),
];

/** The webhook writes a target inside of the zone relative to it. */
export const relativeAliases = (set: WantedSet): WantedSet =>
  set.type === 'CNAME' ? { ...set, values: set.values.map((value) => value.replace(`.${ZONE}.`, '')) } : set;

/**
 * The webhook makes a set before its text of the registry. What has none after a run that was cut off belongs to nobody, so
 * ExternalDNS leaves it as it is until somebody deletes it.
 *
 * @returns whether there was any
 */
export async function deleteOrphans(stage: Stage): Promise<boolean> {
  const { tainted } = await held(stage);
  for (const each of tainted) {
    const [name = '', type] = each.split(' ');
    const path = `/zones/${ZONE}/rrsets/${name.slice(0, -ZONE.length - 1)}/${type}`;
    await callDns(stage.system.url, { method: 'DELETE', path, token: stage.team.token });
  }
  return tainted.length > 0;
}
