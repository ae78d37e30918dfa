import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { strictParserFor } from '../../parser-for.js';
import { closed, exactly } from '../../schema-objects.js';
import { textRules } from '../../text-rules.js';
import { refSchema } from '../clusters/requests.js';
import { clusterLimits } from '../limits.js';
import { compared, filled, optionalTime, text, time, uuid } from '../schema-parts.js';
import { apiVersion, serverArchitectures, serverKinds, serverPhases, wipeAcknowledgement } from '../states.js';

const serverIdSchema = {
  type: 'integer',
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description:
    'The provider’s number of the server. For a `dedicated` or `onprem` server, any number that is unique among the ' +
    'adopted servers of the team.',
} as const satisfies JSONSchema;

const name = {
  type: 'string',
  minLength: 1,
  maxLength: clusterLimits.serverWordCharacters,
  pattern: textRules.shownName.pattern,
} as const;

const serverSpec = {
  serverID: serverIdSchema,
  serverType: { ...name, description: 'The provider’s name for it, such as `cx22`.' },
  location: { ...name, description: 'The provider’s name for it, such as `hel1`.' },
  architecture: { enum: serverArchitectures },
  serverKind: {
    enum: serverKinds,
    description:
      '`cloud` servers are looked up in the project of the connection and rebuilt. The service cannot rebuild `dedicated` and ' +
      '`onprem` servers: run a join command on them. These kinds need an installation with nodes on adopted servers.',
  },
} as const;

export const adoptedServerPostSchema = closed(['spec'], {
  spec: exactly(serverSpec),
  acknowledge: {
    ...compared,
    description:
      'Exactly `{"confirm": "WIPE"}`: the operating system of the server is rebuilt and all its data is destroyed; a ' +
      'cluster takes over a `dedicated` or `onprem` machine completely. ' +
      'Anything else is refused with `acknowledgement_required`.',
    examples: [wipeAcknowledgement],
  },
});

export const adoptedServerSchema = exactly({
  apiVersion: { const: apiVersion },
  kind: { const: 'AdoptedServer' },
  metadata: exactly({
    name: { ...filled, description: 'The provider’s name for the server; its number until the name is known.' },
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
      description: '`Joining`, `Joined` and `Leaving` describe a node of a cluster; the others describe the adoption.',
    },
    message: { ...text, description: 'Details of the phase, and what to do about it.' },
    claimedBy: {
      anyOf: [exactly({ cluster: filled, nodePool: filled }), { type: 'null' }],
      description: 'The node pool that uses the server. Null for a server that is `Leaving`.',
    },
    operationId: { ...uuid, type: ['string', 'null'], description: 'The open or last operation on the server.' },
    adoptedAt: {
      ...optionalTime,
      description: 'When the last rebuild finished; for a `dedicated` or `onprem` server, when it became a node.',
    },
    observedAt: {
      ...optionalTime,
      description: 'When the provider last reported the server; null if the provider does not know it.',
    },
  }),
});

/** A server in the cloud project of a connection, as the provider reports it now. */
export const projectServerSchema = exactly({
  serverID: serverIdSchema,
  name: { ...filled, description: 'Compare it before you adopt the server: adoption destroys all data on it.' },
  serverType: filled,
  location: filled,
  architecture: { enum: serverArchitectures },
  state: { ...filled, description: 'The provider’s word for it, such as `running`.' },
  adoptable: { type: 'boolean' },
  reason: { type: ['string', 'null'], description: 'Why the server cannot be adopted, and what to do about it.' },
});

/** The list has as many servers as the provider lists at once. */
export const projectServerListSchema = exactly({
  items: { type: 'array', maxItems: clusterLimits.projectServersListed, items: projectServerSchema },
});
export type ProjectServer = FromSchema<typeof projectServerSchema>;

/** The command for a machine that the service cannot rebuild. */
export const joinCommandSchema = exactly({
  joinCommand: {
    ...filled,
    description: 'A shell script. Paste all of it and run it as root on the machine. Secret until `expiresAt`.',
  },
  nodeName: { ...filled, description: 'Name of the node, which also becomes the name of the machine.' },
  cluster: filled,
  expiresAt: { ...time, description: 'When the token in the command expires. Request a new command then.' },
});
export type JoinCommand = FromSchema<typeof joinCommandSchema>;

export type AdoptedServer = FromSchema<typeof adoptedServerSchema>;
export type AdoptedServerSpec = AdoptedServer['spec'];

export const parseAdoptedServerPost = strictParserFor<{ spec: AdoptedServerSpec; acknowledge?: unknown }>(
  adoptedServerPostSchema,
);

/** Accepts only the exact words, since anything else may not be a confirmation. */
export const isWipeAcknowledged = (acknowledge: unknown): boolean =>
  JSON.stringify(acknowledge) === JSON.stringify(wipeAcknowledgement);

/**
 * Labels of a server at the provider. `claim` names the adoption it belongs to. `clusterNode` marks nodes created for
 * clusters, which their creator deletes when they are no longer needed.
 */
export const serverLabels = { claim: 'corral.dev/claim', clusterNode: 'mcm.gardener.cloud/cluster' } as const;
