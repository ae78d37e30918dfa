import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { strictParserFor } from '../parser-for.js';
import { clusterLimits, defaultNetwork, nodeCidrs } from './limits.js';
import { compared } from './schema-parts.js';
import { apiVersion, plans, poolSources, providers, roles } from './states.js';

/*
 * Request bodies, parsed strictly: unknown fields are refused, absent ones take the defaults written here, and null means
 * absent. What has no default keeps what is there, because it is fixed, or because others look after it.
 */

const slug = (characters: number) => ({
  type: 'string',
  pattern: `^[a-z0-9]([-a-z0-9]{0,${characters - 2}}[a-z0-9])?$`,
});

export const clusterNameSchema = {
  ...slug(clusterLimits.clusterNameCharacters),
  type: 'string',
  maxLength: clusterLimits.clusterNameCharacters,
} as const satisfies JSONSchema;

export const poolNameSchema = {
  type: 'string',
  maxLength: clusterLimits.poolNameCharacters,
  pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$',
} as const satisfies JSONSchema;

export const refSchema = {
  ...slug(clusterLimits.refCharacters),
  type: 'string',
  maxLength: clusterLimits.refCharacters,
} as const satisfies JSONSchema;

export const nodePoolSpecSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: {
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
      default: {},
      maxProperties: clusterLimits.imageFieldsMax,
      propertyNames: { maxLength: clusterLimits.imageTextCharacters },
      additionalProperties: {
        type: ['string', 'number', 'boolean'],
        maxLength: clusterLimits.imageTextCharacters,
      },
      description:
        '`name` and `version` of an image of the catalogue; empty: the catalogue’s default. Other members are ' +
        'options of the image, where the installation has `image-options`. ' +
        'Must be empty for adopted servers, which use the image of the installation.',
    },
    minimum: {
      ...{ type: 'integer', minimum: 0, maximum: 1000, default: clusterLimits.poolMinimumDefault },
      description: 'Must equal `maximum` for `dedicated` and `onprem`.',
    },
    maximum: {
      ...{ type: 'integer', minimum: 0, maximum: 1000, default: clusterLimits.poolMaximumDefault },
      description: 'A pool of adopted servers claims this many servers.',
    },
    publicIP: {
      ...{ type: 'boolean', default: true },
      description:
        'Whether nodes have public addresses. False needs a managed pool and an installation with `private-nodes`; a change ' +
        'replaces the nodes.',
    },
  },
} as const satisfies JSONSchema;

const cidrSchema = { type: 'string', minLength: 1, maxLength: 43 } as const satisfies JSONSchema;

export const networkSchema = {
  type: 'object',
  additionalProperties: false,
  description:
    'Fixed once the cluster was started: absent ranges then stay unchanged. Before that they default to ' +
    `${defaultNetwork.nodeCIDR} for nodes, ${defaultNetwork.podCIDR} for pods and ${defaultNetwork.serviceCIDR} for services.`,
  properties: {
    nodeCIDR: { enum: nodeCidrs },
    podCIDR: cidrSchema,
    serviceCIDR: cidrSchema,
    existingNetwork: {
      ...{ type: 'string', minLength: 1, maxLength: 100 },
      description:
        'Name or id of an existing network of the cloud project for the nodes, where the installation has ' +
        '`existing-network`. Absent: the cluster gets its own network.',
    },
  },
} as const satisfies JSONSchema;

export const clusterSpecSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['kubernetesVersion'],
  properties: {
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
      pattern: '^[0-9]+\\.[0-9]+(\\.[0-9]+)?$',
      description: 'A minor or a full version. A minor version is resolved once to a patch version, which then stays.',
    },
    hibernated: { type: 'boolean', description: 'Absent: unchanged; false for a new cluster.' },
    controlPlaneHA: {
      type: 'boolean',
      description:
        'Cannot be disabled once the cluster was started with true. Absent: unchanged; false for a new cluster.',
    },
    plan: { enum: plans, default: 'payg' },
    network: networkSchema,
    nodePools: {
      type: 'array',
      maxItems: 100,
      items: nodePoolSpecSchema,
      description: 'Absent: the pools are unchanged. A list replaces all pools.',
    },
  },
} as const satisfies JSONSchema;

export const connectionSpecSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['provider'],
  properties: {
    name: {
      type: 'string',
      minLength: 1,
      maxLength: clusterLimits.connectionNameCharacters,
      description: 'Display name. Absent: the ref.',
    },
    provider: { enum: providers, description: 'Fixed at creation.' },
    token: {
      type: 'string',
      minLength: 1,
      maxLength: clusterLimits.tokenCharacters,
      pattern: '^[\\x21-\\x7e]+$',
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
  },
} as const;

const specOf = <S extends object, M extends object>(spec: S, more: M) =>
  ({ type: 'object', additionalProperties: false, required: ['spec'], properties: { spec, ...more } }) as const;

/**
 * What a GET answers beside the specification: it may be sent back as it was read, and counts for nothing.
 *
 * @param named the member of `metadata` that has to be that of the path
 */
const asRead = (kind: string, named: 'name' | 'ref') => ({
  apiVersion: { enum: [apiVersion] },
  kind: { enum: [kind] },
  metadata: {
    type: 'object',
    maxProperties: compared.maxProperties,
    properties: { [named]: { ...compared, description: 'Must match the path.' } },
    description: `As read. \`${named}\` must match the path; all other members are ignored.`,
  },
  status: { ...compared, description: 'As read. Ignored.' },
});

export const clusterPutSchema = specOf(clusterSpecSchema, asRead('Cluster', 'name'));
export const connectionPutSchema = specOf(connectionSpecSchema, asRead('Connection', 'ref'));
const nodePoolSpecPutSchema = specOf(nodePoolSpecSchema, {});
/** As a GET answers it: the specification is not in a member of its own there. */
const nodePoolAsReadSchema = {
  ...nodePoolSpecSchema,
  properties: {
    ...nodePoolSpecSchema.properties,
    autoscalerPriority: { ...compared, description: 'As read. Ignored.' },
    status: { ...compared, description: 'As read. Ignored.' },
  },
} as const;
export const nodePoolPutSchema = { anyOf: [nodePoolSpecPutSchema, nodePoolAsReadSchema] } as const;
export const connectionPostSchema = specOf({ ...connectionSpecSchema, required: ['provider', 'token'] }, {});

/** The body may be left out. */
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
  },
} as const satisfies JSONSchema;

/** Whether mail arrives there is for a sign-in to prove; this keeps out what surely is no address. */
export const emailSchema = {
  type: 'string',
  minLength: 3,
  maxLength: 254,
  pattern: '^[^@\\s]+@[^@\\s]+$',
} as const satisfies JSONSchema;

export const devSignInSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['email'],
  properties: { email: emailSchema },
} as const satisfies JSONSchema;

export const roleSchema = { enum: roles } as const satisfies JSONSchema;

/** Complete: what is stored, hashed and rendered. */
export type NodePoolSpec = Required<FromSchema<typeof nodePoolSpecSchema>>;
/** As a client declares it. What is absent stays what it is. */
export type NodePoolSpecInput = Omit<NodePoolSpec, 'source' | 'machineType'> &
  Partial<Pick<NodePoolSpec, 'source' | 'machineType'>>;
export interface ClusterNetwork {
  nodeCIDR: (typeof nodeCidrs)[number];
  podCIDR: string;
  serviceCIDR: string;
  existingNetwork?: string;
}
/** Complete: what is stored, hashed and rendered. */
export interface ClusterSpec {
  connectionRef: string;
  region: string;
  kubernetesVersion: string;
  hibernated: boolean;
  controlPlaneHA: boolean;
  plan: (typeof plans)[number];
  network: ClusterNetwork;
  nodePools: NodePoolSpec[];
}
/** As a client declares it, defaults filled in. What is absent stays what it is, where there is something. */
export type ClusterSpecInput = Pick<ClusterSpec, 'kubernetesVersion' | 'plan'> &
  Partial<Pick<ClusterSpec, 'connectionRef' | 'region' | 'hibernated' | 'controlPlaneHA'>> & {
    network?: Partial<ClusterNetwork>;
    nodePools?: NodePoolSpecInput[];
  };
export interface ConnectionSpecInput {
  name?: string;
  provider: (typeof providers)[number];
  /** Absent: the connection keeps the one it has. */
  token?: string;
  providerConfig: Record<string, never>;
}

export const parseClusterPut = strictParserFor<{ spec: ClusterSpecInput; metadata?: { name?: unknown } }>(
  clusterPutSchema,
);
export const parseConnectionPut = strictParserFor<{ spec: ConnectionSpecInput; metadata?: { ref?: unknown } }>(
  connectionPutSchema,
);
const parseNodePoolSpecPut = strictParserFor<{ spec: NodePoolSpecInput }>(nodePoolSpecPutSchema);
const parseNodePoolAsRead = strictParserFor<NodePoolSpecInput & { autoscalerPriority?: unknown; status?: unknown }>(
  nodePoolAsReadSchema,
);
/** Takes the specification in `spec`, or a pool as a GET answers it. */
export function parseNodePoolPut(body: unknown): { spec: NodePoolSpecInput } {
  const isAsRead = typeof body === 'object' && body !== null && 'name' in body && !('spec' in body);
  if (!isAsRead) return parseNodePoolSpecPut(body);
  const { autoscalerPriority: _priority, status: _status, ...spec } = parseNodePoolAsRead(body);
  return { spec };
}
export const parseConnectionPost = strictParserFor<{ spec: ConnectionSpecInput & { token: string } }>(
  connectionPostSchema,
);
export const parseKubeconfigRequest = strictParserFor<{ ttlSeconds: number }>(kubeconfigRequestSchema);
export const parseDevSignIn = strictParserFor<{ email: string }>(devSignInSchema);

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
 * How addresses are kept and compared: in lower case, by ASCII alone. Unicode takes letters for each other that mail servers
 * do not, such as the Kelvin sign for a k: two people would be one.
 */
export const normalEmail = (text: string): string =>
  text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '').replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
