import type { FromSchema } from 'json-schema-to-ts';
import { poolNameSchema } from './requests.js';
import { count, exactly, filled, text, time } from './schema-parts.js';

const optionalTime = { type: ['string', 'null'], pattern: time.pattern } as const;

/** What the garden tells of a cluster beside its health. */
const observed = {
  kubernetes: {
    ...exactly({
      version: { ...filled, description: 'The full version that runs.' },
      supportedUntil: { ...optionalTime, description: 'Null: no end is announced, or it was not read yet.' },
    }),
    type: ['object', 'null'],
  },
  apiServer: {
    ...exactly({
      url: filled,
      certificateAuthorityData: {
        type: ['string', 'null'],
        description:
          'What its certificate is proved by, in the form of `certificate-authority-data` of a kubeconfig: PEM in base64, of ' +
          'several certificates while they are exchanged. Null until the garden has told.',
      },
    }),
    type: ['object', 'null'],
    description: 'Where the API server of the cluster answers.',
  },
  nodePools: {
    type: 'array',
    items: exactly({ name: poolNameSchema, image: exactly({ name: text, version: text }) }),
  },
  maintenance: {
    ...exactly({
      next: {
        ...optionalTime,
        description: 'When the next maintenance may begin, as it was when the cluster was last looked at.',
      },
      last: { ...exactly({ at: time, state: filled }), type: ['object', 'null'] },
    }),
    type: ['object', 'null'],
  },
} as const;
const observedClusterSchema = exactly(observed);
/** What a pass leaves of it. How many nodes there are is counted apart from passes. */
export type ObservedCluster = FromSchema<typeof observedClusterSchema>;

const seenPoolSchema = exactly({
  name: poolNameSchema,
  image: {
    ...exactly({ name: text, version: text }),
    type: ['object', 'null'],
    description:
      'What the nodes of a managed pool are made of now. Null for adopted servers, and until the garden tells.',
  },
  nodes: {
    ...exactly({
      ready: { ...count, description: 'Those that take pods, as they say themselves.' },
      total: { ...count, description: 'Those that have registered.' },
    }),
    type: ['object', 'null'],
    description:
      'As the API server of the cluster tells. Counted after each change that the garden shows, and every few minutes. Null ' +
      'when it could not be asked: before there is one, while the cluster is hibernated, and while it does not answer.',
  },
});

/** As answers have it: what a pass left, and what was counted of the pools. */
export const seenOfCluster = {
  ...observed,
  nodePools: {
    type: 'array',
    items: seenPoolSchema,
    description: 'What is there now of the declared pools, in their order; those left out of which nothing is known.',
  },
} as const;
