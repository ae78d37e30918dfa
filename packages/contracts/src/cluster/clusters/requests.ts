import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { declarationParserFor, strictParserFor } from '../../parser-for.js';
import { closed } from '../../schema-objects.js';
import { textRules } from '../../text-rules.js';
import { clusterLimits, defaultNetwork, nodeCidrs, nodePoolDefaults } from '../limits.js';
import { roles } from '../roles.js';
import { compared } from '../schema-parts.js';
import { apiVersion, type KubeconfigScope, kubeconfigScopes, plans, poolSources, providers } from '../states.js';
import {
  type HibernationSchedule,
  type HibernationScheduleInput,
  hibernationScheduleSchema,
} from './hibernation-schedule.js';

/*
 * Request bodies, parsed strictly: unknown fields are rejected, absent ones take the defaults given here, and null
 * means absent. A field without a default stays as it is when absent.
 */

export const clusterNameSchema = {
  type: 'string',
  maxLength: clusterLimits.clusterNameCharacters,
  pattern: textRules.name.pattern,
} as const satisfies JSONSchema;

export const poolNameSchema = {
  type: 'string',
  maxLength: clusterLimits.poolNameCharacters,
  pattern: textRules.poolName.pattern,
} as const satisfies JSONSchema;

export const refSchema = {
  type: 'string',
  maxLength: clusterLimits.refCharacters,
  pattern: textRules.ref.pattern,
} as const satisfies JSONSchema;

const replacedBy = (field: keyof typeof nodePoolDefaults): string =>
  `Absent: ${nodePoolDefaults[field]}, whatever the pool has now.`;

export const nodePoolSpecSchema = closed(['name'], {
  name: poolNameSchema,
  source: {
    enum: poolSources,
    description:
      'Where the nodes come from: `managed` nodes are created and deleted as needed; the others are adopted servers ' +
      'of the kind `cloud` (`pooled`), `dedicated` or `onprem`. Fixed once the pool exists. Absent: unchanged; ' +
      '`managed` for a new pool.',
  },
  machineType: {
    type: 'string',
    minLength: 1,
    maxLength: clusterLimits.machineTypeCharacters,
    description:
      'For a pool of adopted servers, the server type; fixed, and unchanged when absent. Required for managed pools.',
  },
  image: {
    type: 'object',
    maxProperties: clusterLimits.imageFieldsMax,
    propertyNames: { maxLength: clusterLimits.imageTextCharacters },
    additionalProperties: { type: ['string', 'number', 'boolean'], maxLength: clusterLimits.imageTextCharacters },
    description:
      '`name` and `version` of an image of the catalogue; empty: the catalogue’s default. The garden raises a version that expires: ' +
      '`status` of the cluster shows what runs. Other members are options of the image, where the installation has `image-options`. ' +
      'Must be empty for adopted servers, which use the image of the installation. ' +
      'Absent: unchanged; empty for a new pool.',
  },
  minimum: {
    type: 'integer',
    minimum: 0,
    maximum: 1000,
    default: nodePoolDefaults.minimum,
    description: `Must equal \`maximum\` for \`dedicated\` and \`onprem\`. ${replacedBy('minimum')}`,
  },
  maximum: {
    type: 'integer',
    minimum: 0,
    maximum: 1000,
    default: nodePoolDefaults.maximum,
    description: `A pool of adopted servers claims this many servers. ${replacedBy('maximum')}`,
  },
  publicIP: {
    type: 'boolean',
    default: nodePoolDefaults.publicIP,
    description:
      'Whether nodes have public addresses. False needs a managed pool and an installation with `private-nodes`; a change ' +
      `replaces the nodes. ${replacedBy('publicIP')}`,
  },
});

const cidrSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 43,
  description: 'Within 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10.',
} as const satisfies JSONSchema;

export const networkSchema = {
  type: 'object',
  additionalProperties: false,
  description:
    'Fixed once the cluster was started. Absent: unchanged; for a new cluster ' +
    `${defaultNetwork.nodeCIDR} for nodes, ${defaultNetwork.podCIDR} for pods and ${defaultNetwork.serviceCIDR} for services.`,
  properties: {
    nodeCIDR: { enum: nodeCidrs },
    podCIDR: cidrSchema,
    serviceCIDR: cidrSchema,
    existingNetwork: {
      type: 'string',
      minLength: 1,
      maxLength: 100,
      description:
        'Name or id of an existing network of the cloud project for the nodes, where the installation has ' +
        '`existing-network`. Absent: unchanged; a new cluster gets its own network.',
    },
  },
} as const satisfies JSONSchema;

export const clusterSpecSchema = closed(['kubernetesVersion'], {
  connectionRef: {
    ...refSchema,
    description: 'A connection of the team. Required for a new cluster; cannot change later.',
  },
  region: {
    type: 'string',
    minLength: 1,
    maxLength: clusterLimits.regionCharacters,
    description: 'Required for a new cluster; cannot change later.',
  },
  kubernetesVersion: {
    type: 'string',
    maxLength: clusterLimits.kubernetesVersionCharacters,
    pattern: textRules.kubernetesVersion.pattern,
    description: 'A minor or a full version. A minor version is resolved once to a patch version, which then stays.',
  },
  hibernated: { type: 'boolean', description: 'Absent: unchanged; false for a new cluster.' },
  hibernationSchedule: hibernationScheduleSchema,
  controlPlaneHA: {
    type: 'boolean',
    description:
      'Cannot be disabled once the cluster was started with true. Absent: unchanged; false for a new cluster.',
  },
  plan: { enum: plans, description: 'Absent: unchanged; `payg` for a new cluster.' },
  deletionProtection: {
    type: 'boolean',
    description:
      'While true, the cluster cannot be deleted: 409 `deletion_protected`. Nodes and control plane are not concerned. ' +
      'Absent: unchanged; false for a new cluster.',
  },
  network: networkSchema,
  nodePools: {
    type: 'array',
    maxItems: 100,
    items: nodePoolSpecSchema,
    description: 'Absent: the pools are unchanged. A list replaces all pools.',
  },
});

const connectionSpecSchema = closed(['provider'], {
  name: {
    type: 'string',
    minLength: 1,
    maxLength: clusterLimits.connectionNameCharacters,
    pattern: textRules.shownName.pattern,
    description: 'Display name. Absent: unchanged; the ref for a new connection.',
  },
  provider: { enum: providers, description: 'Fixed at creation.' },
  token: {
    type: 'string',
    minLength: 1,
    maxLength: clusterLimits.tokenCharacters,
    pattern: textRules.visibleAscii.pattern,
    writeOnly: true,
    description:
      'Token of the cloud project with read and write access. Never returned. Absent: the connection keeps its token.',
  },
  providerConfig: {
    type: 'object',
    additionalProperties: false,
    default: {},
    properties: {},
    description: 'Provider-specific settings. Empty for `hcloud`, which has none.',
  },
});

export const specOf = <const S extends JSONSchema, const M extends Record<string, JSONSchema>>(spec: S, more: M) =>
  closed(['spec'], { spec, ...more });

/**
 * The members of a GET answer besides the specification. They may be sent back and are ignored.
 *
 * @param named the member of `metadata` that must match the path
 */
export const asRead = (kind: string, named: 'name' | 'ref') =>
  ({
    apiVersion: { enum: [apiVersion] },
    kind: { enum: [kind] },
    metadata: {
      type: 'object',
      maxProperties: compared.maxProperties,
      properties: { [named]: { ...compared, description: 'Must match the path.' } },
      description: `As read. \`${named}\` must match the path; all other members are ignored.`,
    },
    status: { ...compared, description: 'As read. Ignored.' },
  }) as const;

export const clusterPutSchema = specOf(clusterSpecSchema, asRead('Cluster', 'name'));
export const connectionPutSchema = specOf(connectionSpecSchema, asRead('Connection', 'ref'));
const nodePoolSpecPutSchema = specOf(nodePoolSpecSchema, {});
/** A pool as returned by GET, where the specification is not nested under `spec`. */
const nodePoolAsReadSchema = {
  ...nodePoolSpecSchema,
  properties: {
    ...nodePoolSpecSchema.properties,
    autoscalerPriority: { ...compared, description: 'As read. Ignored.' },
    status: { ...compared, description: 'As read. Ignored.' },
    resetToDefault: { ...compared, description: 'As answered. Ignored.' },
  },
} as const;
export const nodePoolPutSchema = { anyOf: [nodePoolSpecPutSchema, nodePoolAsReadSchema] } as const;
export const connectionPostSchema = specOf({ ...connectionSpecSchema, required: ['provider', 'token'] }, {});

/** The body is optional. */
export const kubeconfigRequestSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    ttlSeconds: {
      type: 'integer',
      minimum: clusterLimits.kubeconfigSecondsMin,
      maximum: clusterLimits.kubeconfigSecondsMax,
      default: clusterLimits.kubeconfigSecondsDefault,
    },
    scope: {
      enum: kubeconfigScopes,
      default: 'admin',
      description:
        '`admin`: full access. `viewer`: reads everything except Secrets. Viewers of the team get only `viewer`.',
    },
  },
} as const satisfies JSONSchema;

export const emailSchema = {
  type: 'string',
  format: 'email',
  minLength: 3,
  maxLength: 254,
  pattern: textRules.email.pattern,
} as const satisfies JSONSchema;

export const devSignInSchema = closed(['email'], {
  email: emailSchema,
  return_to: {
    type: 'string',
    maxLength: clusterLimits.returnToCharacters,
    description: 'Only in a form: the path of this service to redirect to.',
  },
});

export const roleSchema = { enum: roles } as const satisfies JSONSchema;

/** The complete specification, which is stored, hashed and rendered. */
export type NodePoolSpec = Required<FromSchema<typeof nodePoolSpecSchema>>;
/** The specification as declared by a client. Absent fields with a default take it; others stay unchanged. */
export type NodePoolSpecInput = Pick<NodePoolSpec, 'name'> & Partial<NodePoolSpec>;
export interface ClusterNetwork {
  nodeCIDR: (typeof nodeCidrs)[number];
  podCIDR: string;
  serviceCIDR: string;
  existingNetwork?: string;
}
/** The complete specification, which is stored, hashed and rendered. */
export interface ClusterSpec {
  connectionRef: string;
  region: string;
  kubernetesVersion: string;
  hibernated: boolean;
  hibernationSchedule?: HibernationSchedule;
  controlPlaneHA: boolean;
  plan: (typeof plans)[number];
  deletionProtection: boolean;
  network: ClusterNetwork;
  nodePools: NodePoolSpec[];
}
/** The specification as declared by a client. Absent fields stay unchanged. */
export type ClusterSpecInput = Pick<ClusterSpec, 'kubernetesVersion'> &
  Partial<
    Pick<ClusterSpec, 'connectionRef' | 'region' | 'hibernated' | 'controlPlaneHA' | 'plan' | 'deletionProtection'>
  > & {
    hibernationSchedule?: HibernationScheduleInput;
    network?: Partial<ClusterNetwork>;
    nodePools?: NodePoolSpecInput[];
  };
export interface ConnectionSpecInput {
  name?: string;
  provider: (typeof providers)[number];
  /** Absent: the token stays unchanged. */
  token?: string;
  providerConfig: Record<string, never>;
}

export const parseClusterPut = declarationParserFor<{ spec: ClusterSpecInput; metadata?: { name?: unknown } }>(
  clusterPutSchema,
);
export const parseConnectionPut = strictParserFor<{ spec: ConnectionSpecInput; metadata?: { ref?: unknown } }>(
  connectionPutSchema,
);
const parseNodePoolSpecPut = declarationParserFor<{ spec: NodePoolSpecInput }>(nodePoolSpecPutSchema);
const parseNodePoolAsRead = declarationParserFor<
  NodePoolSpecInput & { autoscalerPriority?: unknown; status?: unknown; resetToDefault?: unknown }
>(nodePoolAsReadSchema);
/** Accepts the specification in `spec`, or a pool as returned by GET. */
export function parseNodePoolPut(body: unknown): { spec: NodePoolSpecInput } {
  const isAsRead = typeof body === 'object' && body !== null && 'name' in body && !('spec' in body);
  if (!isAsRead) return parseNodePoolSpecPut(body);
  const { autoscalerPriority: _priority, status: _status, resetToDefault: _reset, ...spec } = parseNodePoolAsRead(body);
  return { spec };
}
export const parseConnectionPost = strictParserFor<{ spec: ConnectionSpecInput & { token: string } }>(
  connectionPostSchema,
);
export const parseKubeconfigRequest = strictParserFor<{ ttlSeconds: number; scope: KubeconfigScope }>(
  kubeconfigRequestSchema,
);
export const parseDevSignIn = strictParserFor<{ email: string; return_to?: string }>(devSignInSchema);

const clusterName = new RegExp(clusterNameSchema.pattern);
const poolName = new RegExp(poolNameSchema.pattern);
const ref = new RegExp(refSchema.pattern);
const email = new RegExp(emailSchema.pattern);
export const isClusterName = (text: string): boolean => clusterName.test(text);
export const isPoolName = (text: string): boolean =>
  text.length <= clusterLimits.poolNameCharacters && poolName.test(text);
export const isConnectionRef = (text: string): boolean => ref.test(text);
export const isEmail = (text: string): boolean => text.length <= emailSchema.maxLength && email.test(text);

/**
 * The stored and compared form of addresses: lower case, ASCII only. Unicode case folding equates letters that mail
 * servers distinguish, such as the Kelvin sign and k, which would merge two people.
 */
export const normalEmail = (text: string): string =>
  text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '').replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
