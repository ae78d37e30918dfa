import type { FromSchema } from 'json-schema-to-ts';
import { exactly } from '../../schema-objects.js';
import { count, filled } from '../schema-parts.js';
import { poolNameSchema } from './requests.js';

/** What a change does to a cluster as a whole. */
export const clusterEffectKinds = {
  created: 'The cluster is new.',
  started: 'A draft gets its first managed nodes, so its control plane is created.',
  upgraded: 'The control plane gets another version of Kubernetes.',
  hibernated: 'Control plane and managed nodes are shut down.',
  resumed: 'Control plane and managed nodes are created again.',
  updated: 'Other fields change.',
  repaired:
    'Declared fields that others changed on the garden are set back. The nodes that this affects are not known.',
  deleted: 'The cluster is deleted.',
} as const;

/** What a change does to the nodes of a pool. */
export const poolEffectKinds = {
  added: 'The pool is new.',
  removed: 'The nodes of the pool are drained and deleted. Adopted servers leave the cluster.',
  replaced: 'A rolling update replaces every node of the pool by a new one.',
  scaled: 'The number of nodes changes. Nodes that stay are not replaced.',
  updated: 'The pool changes, and its nodes stay.',
  kept: 'Neither the pool nor its nodes change.',
} as const;

type ClusterEffectKind = keyof typeof clusterEffectKinds;
type PoolEffectKind = keyof typeof poolEffectKinds;

const meanings = (kinds: Readonly<Record<string, string>>): string =>
  Object.entries(kinds)
    .map(([kind, meaning]) => `\`${kind}\`: ${meaning}`)
    .join(' ');

const fields = {
  type: 'array',
  items: { type: 'string' },
  description:
    'JSON pointers to the fields that cause the effect. That of a removed pool is its place before the change.',
} as const;
const reason = { ...filled, description: 'A sentence for people.' } as const;

const version = { type: ['string', 'null'] } as const;
const clusterEffectSchema = exactly({
  target: { const: 'cluster' },
  kind: { enum: Object.keys(clusterEffectKinds) as ClusterEffectKind[], description: meanings(clusterEffectKinds) },
  kubernetesVersion: {
    ...exactly({ before: version, after: version }),
    description: 'Full versions. Null when there is none, or when it is not known yet.',
  },
  fields,
  reason,
});

const nodeRange = { ...exactly({ minimum: count, maximum: count }), type: ['object', 'null'] } as const;
const poolEffectSchema = exactly({
  target: { const: 'nodePool' },
  pool: poolNameSchema,
  kind: { enum: Object.keys(poolEffectKinds) as PoolEffectKind[], description: meanings(poolEffectKinds) },
  nodes: {
    ...exactly({ before: nodeRange, after: nodeRange }),
    description:
      'Fewest and most nodes by the present and by the new declaration, as in `cost`. Null when the pool does not exist.',
  },
  fields,
  reason,
});

export const effectsSchema = {
  type: 'array',
  items: { anyOf: [clusterEffectSchema, poolEffectSchema] },
  description:
    'What the change does to the cluster and its nodes, compared with the present declaration. Empty when nothing changes. ' +
    'Otherwise each node pool before and after the change has exactly one entry, after those of the cluster.',
} as const;

export type ClusterEffect = FromSchema<typeof clusterEffectSchema>;
export type PoolEffect = FromSchema<typeof poolEffectSchema>;
export type ChangeEffect = ClusterEffect | PoolEffect;
