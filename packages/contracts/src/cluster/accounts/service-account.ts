import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { dnsLimits } from '../../dns/limits.js';
import { writableTypes } from '../../dns/names.js';
import { declarationParserFor, strictParserFor } from '../../parser-for.js';
import { closed, exactly } from '../../schema-objects.js';
import { textRules } from '../../text-rules.js';
import { asRead, roleSchema, specOf } from '../clusters/requests.js';
import { clusterLimits } from '../limits.js';
import type { Role } from '../roles.js';
import { filled, optionalTime, person, time, uuid } from '../schema-parts.js';
import { apiVersion } from '../states.js';

/** Kinds of actions that a service account can be narrowed to. */
export const accountActions = ['read', 'change', 'delete', 'kubeconfig'] as const;
export type AccountAction = (typeof accountActions)[number];

const clusters = {
  type: 'array',
  minItems: 1,
  maxItems: clusterLimits.accountClusterPatterns,
  uniqueItems: true,
  items: {
    type: 'string',
    minLength: 1,
    maxLength: clusterLimits.clusterNameCharacters,
    pattern: textRules.clusterPattern.pattern,
  },
  description:
    'Names of the clusters that the account may use. A `*` at the start or the end stands for any characters: ' +
    '`ci-*`. The clusters need not exist.',
} as const satisfies JSONSchema;

const actions = {
  type: 'array',
  minItems: 1,
  maxItems: accountActions.length,
  uniqueItems: true,
  items: { enum: accountActions },
  description:
    '`read`: GET requests and dry runs. `kubeconfig`: issue kubeconfigs. `delete`: DELETE requests, and with `change` those that ' +
    'leave out a node pool of a cluster. `change`: all other requests.',
} as const satisfies JSONSchema;

const dnsParts = {
  withinName: {
    type: ['string', 'null'],
    maxLength: dnsLimits.fullNameCharacters,
    description:
      'The DNS tokens of the account read and write only this name, relative to the zone, and names below it. Null: all names ' +
      'of the team, or none if the account is narrowed to clusters.',
  },
  withinTypes: {
    type: 'array',
    items: { enum: writableTypes },
    maxItems: writableTypes.length,
    uniqueItems: true,
    description: 'The DNS tokens of the account write only these record types. Empty: all types.',
  },
} as const satisfies Record<string, JSONSchema>;

const specSchema = closed(['role'], {
  role: {
    ...roleSchema,
    description: 'What the account may do, as for people. Routes for people only are closed to it.',
  },
  narrowing: {
    type: 'object',
    additionalProperties: false,
    properties: { clusters, actions, dns: closed([], dnsParts) },
    description: 'Limits the account further. What is absent is unchanged; a new account is limited by its role only.',
  },
});

export const serviceAccountPutSchema = specOf(specSchema, asRead('ServiceAccount', 'name'));

export const accountTokenPostSchema = closed(['expiresInDays'], {
  expiresInDays: { type: 'integer', minimum: 1, maximum: clusterLimits.accountTokenDays },
});

export const serviceAccountSchema = exactly({
  apiVersion: { const: apiVersion },
  kind: { const: 'ServiceAccount' },
  metadata: exactly({ name: filled, id: uuid, team: filled, createdAt: time, updatedAt: time }),
  spec: exactly({ role: roleSchema, narrowing: exactly({ clusters, actions, dns: exactly(dnsParts) }) }),
});

export const serviceAccountListSchema = exactly({
  items: { type: 'array', maxItems: clusterLimits.serviceAccountsPerTeam, items: serviceAccountSchema },
});

export const accountTokenListSchema = exactly({
  items: {
    type: 'array',
    items: exactly({
      id: uuid,
      createdAt: time,
      createdBy: { anyOf: [person, { type: 'null' }], description: 'Null for a person whose account is deleted.' },
      expiresAt: time,
      lastUsedAt: { ...optionalTime, description: 'Accurate to about 10 s.' },
      revokedAt: optionalTime,
    }),
  },
});

export const createdAccountTokenSchema = exactly({
  id: uuid,
  token: { type: 'string', pattern: '^corral_[\\w-]{43}$', description: 'Shown only once, and not stored.' },
  expiresAt: time,
});

/** What the DNS tokens of an account cover. */
export interface AccountDns {
  /** Relative to the zone. Null: all names of the team, or none for an account that is narrowed to clusters. */
  readonly withinName: string | null;
  /** Empty for all. */
  readonly withinTypes: readonly string[];
}
export interface AccountNarrowing {
  readonly clusters: readonly string[];
  readonly actions: readonly AccountAction[];
  readonly dns: AccountDns;
}
export interface ServiceAccountSpec {
  readonly role: Role;
  readonly narrowing: AccountNarrowing;
}
/** The requested account. What is absent is unchanged. */
export interface ServiceAccountSpecInput {
  readonly role: Role;
  readonly narrowing?: Partial<Omit<AccountNarrowing, 'dns'>> & { readonly dns?: Partial<AccountDns> };
}
/** The narrowing of an account that is limited by its role only. */
export const noNarrowing: AccountNarrowing = {
  clusters: ['*'],
  actions: accountActions,
  dns: { withinName: null, withinTypes: [] },
};
export type ServiceAccountBody = FromSchema<typeof serviceAccountSchema>;
export type AccountTokenListBody = FromSchema<typeof accountTokenListSchema>;
export type CreatedAccountTokenBody = FromSchema<typeof createdAccountTokenSchema>;

export const parseServiceAccountPut = declarationParserFor<{
  readonly spec: ServiceAccountSpecInput;
  readonly metadata?: { readonly name?: unknown };
}>(serviceAccountPutSchema);
export const parseAccountTokenPost = strictParserFor<{ readonly expiresInDays: number }>(accountTokenPostSchema);
