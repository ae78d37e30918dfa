import type { Stage } from './stage.js';
import type { WantedSet } from './wanted.js';

/** The owner in `values.yaml`, whose `acme` is the name of the team. */
const ownerOf = ({ team }: Pick<Stage, 'team'>): string => `${team.slug}-production`;

/** The registry of ExternalDNS: a text for each set, without a TTL, with the replacement of `*` in its name. */
export const registryOf = (wanted: readonly WantedSet[], stage: Pick<Stage, 'team'>): WantedSet[] =>
  wanted.map(({ name, type }) => ({
    name: `reg-${type.toLowerCase()}.${name.replace(/^\*/, 'any')}`,
    type: 'TXT',
    ttl: 0,
    values: [`"heritage=external-dns,external-dns/owner=${ownerOf(stage)}"`],
  }));
