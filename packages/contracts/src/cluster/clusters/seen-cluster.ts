import type { FromSchema } from 'json-schema-to-ts';
import { exactly } from '../../schema-objects.js';
import { count, filled, optionalTime, text, time } from '../schema-parts.js';
import { poolNameSchema } from './requests.js';

/** What the garden reports about a cluster besides its health. */
const observed = {
  kubernetes: {
    ...exactly({
      version: { ...filled, description: 'The full version in use.' },
      supportedUntil: { ...optionalTime, description: 'Null: no end date is announced, or it was not read yet.' },
    }),
    type: ['object', 'null'],
  },
  apiServer: {
    ...exactly({
      url: filled,
      certificateAuthorityData: {
        type: ['string', 'null'],
        description:
          'The certificate authority of the API server, as in `certificate-authority-data` of a kubeconfig: PEM in base64, with ' +
          'several certificates during a rotation. Null until the garden reports it.',
      },
    }),
    type: ['object', 'null'],
    description: 'URL of the API server of the cluster.',
  },
  nodePools: { type: 'array', items: exactly({ name: poolNameSchema, image: exactly({ name: text, version: text }) }) },
  maintenance: {
    ...exactly({
      next: {
        ...optionalTime,
        description: 'When the next maintenance may begin, as of the last observation of the cluster.',
      },
      last: { ...exactly({ at: time, state: filled }), type: ['object', 'null'] },
    }),
    type: ['object', 'null'],
  },
} as const;
const observedClusterSchema = exactly(observed);
/** The part that a pass records. Nodes are counted independently of passes. */
export type ObservedCluster = FromSchema<typeof observedClusterSchema>;

const seenPoolSchema = exactly({
  name: poolNameSchema,
  image: {
    ...exactly({ name: text, version: text }),
    type: ['object', 'null'],
    description: 'Image of the nodes of a managed pool. Null for adopted servers, and until the garden reports it.',
  },
  nodes: {
    ...exactly({
      ready: { ...count, description: 'Nodes that report Ready.' },
      total: { ...count, description: 'Registered nodes.' },
    }),
    type: ['object', 'null'],
    description:
      'As reported by the API server of the cluster. Counted after each change in the garden, and every few minutes. Null ' +
      'when the API server is unavailable: before it exists, while the cluster is hibernated, and while it does not answer.',
  },
});

/** What a pass recorded, as answers show it, with the node counts of the pools. */
export const seenOfCluster = {
  ...observed,
  nodePools: {
    type: 'array',
    items: seenPoolSchema,
    description: 'Observed state of the declared pools, in their order. Pools without known state are left out.',
  },
} as const;
