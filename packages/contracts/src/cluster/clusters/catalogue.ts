import type { FromSchema } from 'json-schema-to-ts';
import { exactly } from '../../schema-objects.js';
import { amount, count, filled, optionalTime } from '../schema-parts.js';

const names = { type: 'array', items: filled } as const;

const version = {
  version: filled,
  classification: { ...filled, description: '`supported`, `deprecated` or `preview`.' },
  supportedUntil: {
    ...optionalTime,
    description: 'From then on, the version is refused for new clusters and pools. Null when no end is known.',
  },
} as const;

const used = exactly({ used: count, limit: count });

/** What a team may declare now. The checks of a declaration use the same rules. */
export const catalogueSchema = exactly({
  regions: {
    type: 'array',
    items: exactly({
      name: filled,
      zones: names,
      publicIPv4: {
        ...exactly({ hourly: amount, monthly: amount }),
        description: 'Price of the public address of one node.',
      },
    }),
  },
  kubernetesVersions: {
    type: 'array',
    description: 'Newest first.',
    items: exactly({
      ...version,
      newestOf: {
        type: ['string', 'null'],
        description: 'The minor version, such as `1.34`, that stands for this version when it is declared.',
      },
    }),
  },
  machineTypes: {
    type: 'array',
    items: exactly({
      name: filled,
      cores: { type: ['number', 'null'], minimum: 0 },
      memoryGiB: { type: ['number', 'null'], minimum: 0 },
      architecture: filled,
      regions: {
        type: 'array',
        description: 'The regions that offer it, with the price of one node without its public address.',
        items: exactly({ name: filled, hourly: amount, monthly: amount }),
      },
    }),
  },
  images: {
    type: 'array',
    items: exactly({ name: filled, versions: { type: 'array', items: exactly({ ...version, architectures: names }) } }),
  },
  features: { ...names, description: 'Optional features that this installation supports, such as `control-plane-ha`.' },
  network: exactly({
    nodeCIDRs: { ...names, description: 'The ranges to choose from. The first one is the default.' },
    podCIDR: { ...filled, description: 'Default.' },
    serviceCIDR: { ...filled, description: 'Default.' },
  }),
  limits: exactly({
    clusters: used,
    connections: used,
    adoptedServers: used,
    nodePoolsPerCluster: count,
    nodesPerCluster: { ...count, description: 'Maximum sum of the maximums of the node pools of a cluster.' },
  }),
  currency: { type: ['string', 'null'], description: 'Currency of all prices. Null when no price is known.' },
  pricedAt: { ...optionalTime, description: 'When these prices were first read. They are checked daily.' },
});
export type CatalogueBody = FromSchema<typeof catalogueSchema>;
