import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { strictParserFor } from '../parser-for.js';
import { clusterLimits, defaultPodCidr, defaultServiceCidr, nodeCidrs } from './limits.js';
import { plans, poolSources, providers, roles } from './states.js';

/*
 * Request bodies, parsed strictly: unknown fields are refused, absent ones take the defaults written here. An absent
 * `hibernated` or `nodePools` has no default: it keeps what is there.
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
  required: ['name', 'machineType'],
  properties: {
    name: poolNameSchema,
    source: {
      enum: poolSources,
      default: 'managed',
      description:
        'Where the nodes come from: `managed` ones are made and deleted as needed, those of the others are adopted servers ' +
        'of the kind `cloud` (`pooled`), `dedicated` or `onprem`. Fixed once the pool exists.',
    },
    machineType: {
      type: 'string',
      minLength: 1,
      maxLength: clusterLimits.machineTypeCharacters,
      description: 'Of a pool on adopted servers their type; it is fixed then.',
    },
    image: {
      type: 'object',
      default: {},
      maxProperties: clusterLimits.imageFieldsMax,
      propertyNames: { maxLength: clusterLimits.imageTextCharacters },
      additionalProperties: {
        type: ['string', 'number', 'boolean', 'null'],
        maxLength: clusterLimits.imageTextCharacters,
      },
      description:
        '`name` and `version` of an image of the catalogue; empty means the catalogue’s own choice. ' +
        'Adopted servers have that of the installation: empty.',
    },
    minimum: {
      ...{ type: 'integer', minimum: 0, maximum: 1000, default: clusterLimits.poolMinimumDefault },
      description: 'The same as `maximum` for `dedicated` and `onprem`.',
    },
    maximum: {
      ...{ type: 'integer', minimum: 0, maximum: 1000, default: clusterLimits.poolMaximumDefault },
      description: 'A pool on adopted servers claims as many of them.',
    },
    publicIP: { type: 'boolean', default: true },
  },
} as const satisfies JSONSchema;

const cidrSchema = { type: 'string', minLength: 1, maxLength: 43 } as const satisfies JSONSchema;

export const networkSchema = {
  type: 'object',
  additionalProperties: false,
  default: {},
  properties: {
    nodeCIDR: { enum: nodeCidrs, default: nodeCidrs[0] },
    podCIDR: { ...cidrSchema, default: defaultPodCidr },
    serviceCIDR: { ...cidrSchema, default: defaultServiceCidr },
    existingNetwork: { type: 'string', minLength: 1, maxLength: 100 },
  },
} as const satisfies JSONSchema;

export const clusterSpecSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['connectionRef', 'region', 'kubernetesVersion'],
  properties: {
    connectionRef: { ...refSchema, description: 'A connection of the team. Fixed at creation.' },
    region: {
      type: 'string',
      minLength: 1,
      maxLength: clusterLimits.regionCharacters,
      description: 'Fixed at creation.',
    },
    kubernetesVersion: {
      type: 'string',
      maxLength: clusterLimits.kubernetesVersionCharacters,
      pattern: '^[0-9]+\\.[0-9]+(\\.[0-9]+)?$',
      description: 'A minor or a full version. A minor one is resolved once, and stays on that patch.',
    },
    hibernated: { type: 'boolean', description: 'Absent: stays as it is; false for a new cluster.' },
    controlPlaneHA: { type: 'boolean', default: false, description: 'Once true, it stays true.' },
    plan: { enum: plans, default: 'payg' },
    network: networkSchema,
    nodePools: {
      type: 'array',
      maxItems: 100,
      items: nodePoolSpecSchema,
      description: 'Absent: the pools stay as they are. A list replaces them all.',
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
      description: 'For people. Absent: the ref.',
    },
    provider: { enum: providers, description: 'Fixed at creation.' },
    token: {
      type: 'string',
      minLength: 1,
      maxLength: clusterLimits.tokenCharacters,
      pattern: '^[\\x21-\\x7e]+$',
      writeOnly: true,
      description:
        'Of the cloud project, with read and write access. Never answered. Absent: the connection keeps the one it has.',
    },
    providerConfig: {
      type: 'object',
      additionalProperties: false,
      default: {},
      properties: {},
      description: 'Settings that depend on the provider. `hcloud` has none: empty.',
    },
  },
} as const;

const specOf = <S extends object>(spec: S) =>
  ({ type: 'object', additionalProperties: false, required: ['spec'], properties: { spec } }) as const;

export const clusterPutSchema = specOf(clusterSpecSchema);
export const nodePoolPutSchema = specOf(nodePoolSpecSchema);
export const connectionPutSchema = specOf(connectionSpecSchema);
export const connectionPostSchema = specOf({ ...connectionSpecSchema, required: ['provider', 'token'] });

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

export type NodePoolSpec = Required<FromSchema<typeof nodePoolSpecSchema>>;
export interface ClusterNetwork {
  nodeCIDR: (typeof nodeCidrs)[number];
  podCIDR: string;
  serviceCIDR: string;
  existingNetwork?: string;
}
/** As a client declares it, defaults filled in. */
export type ClusterSpecInput = Omit<
  FromSchema<typeof clusterSpecSchema>,
  'controlPlaneHA' | 'plan' | 'network' | 'nodePools'
> & {
  controlPlaneHA: boolean;
  plan: (typeof plans)[number];
  network: ClusterNetwork;
  nodePools?: NodePoolSpec[];
};
/** Complete: what is stored, hashed and rendered. */
export type ClusterSpec = ClusterSpecInput & { hibernated: boolean; nodePools: NodePoolSpec[] };
export interface ConnectionSpecInput {
  name?: string;
  provider: (typeof providers)[number];
  /** Absent: the connection keeps the one it has. */
  token?: string;
  providerConfig: Record<string, never>;
}

export const parseClusterPut = strictParserFor<{ spec: ClusterSpecInput }>(clusterPutSchema);
export const parseNodePoolPut = strictParserFor<{ spec: NodePoolSpec }>(nodePoolPutSchema);
export const parseConnectionPut = strictParserFor<{ spec: ConnectionSpecInput }>(connectionPutSchema);
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
