import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { strictParserFor } from '../parser-for.js';
import { clusterLimits } from './limits.js';
import { refSchema } from './requests.js';
import { compared, exactly, filled, text, time, uuid } from './schema-parts.js';
import { apiVersion, serverArchitectures, serverKinds, serverPhases } from './states.js';

const serverIdSchema = {
  type: 'integer',
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description:
    'The provider’s number of the server. Of a `dedicated` or `onprem` one any number by which the team tells it from its ' +
    'other adopted servers.',
} as const satisfies JSONSchema;

const name = { type: 'string', minLength: 1, maxLength: clusterLimits.serverWordCharacters } as const;

const serverSpec = {
  serverID: serverIdSchema,
  serverType: { ...name, description: 'As the provider calls it, such as `cx22`.' },
  location: { ...name, description: 'As the provider calls it, such as `hel1`.' },
  architecture: { enum: serverArchitectures },
  serverKind: {
    enum: serverKinds,
    description:
      '`cloud` servers are looked up in the project of the connection and rebuilt. `dedicated` and `onprem` ones nobody here ' +
      'can rebuild: a join command is run on them. Only where the installation has nodes on adopted servers.',
  },
} as const;

/** What exactly has to be typed before a server is wiped. */
export const wipeAcknowledgement = { confirm: 'WIPE' } as const;

export const adoptedServerPostSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['spec'],
  properties: {
    spec: exactly(serverSpec),
    acknowledge: {
      ...compared,
      description:
        'Exactly `{"confirm": "WIPE"}`: the operating system of the server is rebuilt and all its data destroyed; a ' +
        '`dedicated` or `onprem` machine is handed over to a cluster as a whole. ' +
        'Anything else is refused with `acknowledgement_required`.',
      examples: [wipeAcknowledgement],
    },
  },
} as const;

const optionalTime = { type: ['string', 'null'], pattern: time.pattern } as const;

export const adoptedServerSchema = exactly({
  apiVersion: { const: apiVersion },
  kind: { const: 'AdoptedServer' },
  metadata: exactly({
    name: { ...filled, description: 'As the provider calls the server; its number until that is known.' },
    id: uuid,
    serverID: serverIdSchema,
    team: filled,
    connectionRef: refSchema,
    createdAt: time,
    updatedAt: time,
  }),
  spec: exactly(serverSpec),
  status: exactly({
    phase: {
      enum: serverPhases,
      description: '`Joining`, `Joined` and `Leaving` tell of a node of a cluster; the others of the adoption itself.',
    },
    message: { ...text, description: 'What is known beside the phase, and what to do about it.' },
    claimedBy: {
      anyOf: [exactly({ cluster: filled, nodePool: filled }), { type: 'null' }],
      description: 'The node pool that draws on the server. A server that is `Leaving` has none any more.',
    },
    operationId: {
      type: ['string', 'null'],
      pattern: uuid.pattern,
      description: 'The open or last operation about it.',
    },
    adoptedAt: {
      ...optionalTime,
      description: 'When the last rebuild was seen to be done; of a `dedicated` or `onprem` one when it became a node.',
    },
    observedAt: {
      ...optionalTime,
      description: 'When the provider last told of it; null of one that the provider does not know.',
    },
  }),
});

/** What an administrator runs on a machine that nobody here can rebuild. */
export const joinCommandSchema = exactly({
  joinCommand: {
    ...filled,
    description: 'A shell script, to be pasted whole and run as root on the machine. A secret until `expiresAt`.',
  },
  nodeName: { ...filled, description: 'What the node will be called, and the machine from then on.' },
  cluster: filled,
  expiresAt: { ...time, description: 'When the token in it ends. Ask for another command then.' },
});
export type JoinCommand = FromSchema<typeof joinCommandSchema>;

export type AdoptedServer = FromSchema<typeof adoptedServerSchema>;
export type AdoptedServerSpec = AdoptedServer['spec'];

export const parseAdoptedServerPost = strictParserFor<{ spec: AdoptedServerSpec; acknowledge?: unknown }>(
  adoptedServerPostSchema,
);

/** Neither more nor less than the typed words: what is nearly them may be meant otherwise. */
export const isWipeAcknowledged = (acknowledge: unknown): boolean =>
  JSON.stringify(acknowledge) === JSON.stringify(wipeAcknowledgement);

/** Reads the number in a path; null for what is no number of a server. */
export function parseServerId(text: string): number | null {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(id) ? id : null;
}

/**
 * What a server carries at the provider. The claim names the adoption that it belongs to; the other one marks the nodes
 * of clusters, which are deleted by whoever made them when nobody wants them any more.
 */
export const serverLabels = { claim: 'corral.dev/claim', clusterNode: 'mcm.gardener.cloud/cluster' } as const;
