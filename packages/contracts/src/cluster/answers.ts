import type { FromSchema } from 'json-schema-to-ts';
import { rrsetSchema } from '../dns/answers.js';
import { parserFor } from '../parser-for.js';
import { closed, exactly } from '../schema-objects.js';
import {
  accountTokenListSchema,
  createdAccountTokenSchema,
  serviceAccountListSchema,
  serviceAccountSchema,
} from './accounts/service-account.js';
import { trustedIssuerListSchema, trustedIssuerSchema } from './accounts/trusted-issuer.js';
import { catalogueSchema } from './clusters/catalogue.js';
import { costDifferenceSchema, costSchema } from './clusters/cost.js';
import { effectsSchema } from './clusters/effects.js';
import { hostedNameDryRunSchema, hostedNameListSchema, hostedNameSchema } from './clusters/hosted-name.js';
import { clusterSpecSchema, nodePoolSpecSchema, poolNameSchema, refSchema, roleSchema } from './clusters/requests.js';
import { seenOfCluster } from './clusters/seen-cluster.js';
import { auditEntrySchema } from './dns/audit-entry.js';
import { createdDnsTokenSchema, dnsSessionSchema, dnsTokenSchema } from './dns/dns-token.js';
import { dnsUsageSchema, recordSetChangesSchema } from './dns/dns-usage.js';
import { danglingRecordSetListSchema, pointingRecordSetsSchema } from './dns/pointing-record-sets.js';
import { undoPlanSchemaOf } from './dns/undo.js';
import { clusterLimits } from './limits.js';
import { deviceAuthorizationSchema, deviceSignInSchema } from './people/device-sign-in.js';
import { notificationsSchema } from './people/notifications.js';
import { sessionSchema } from './people/sign-in.js';
import { billingOutcomeSchema } from './people/subscription.js';
import {
  invitationSchema,
  memberDryRunSchema,
  memberRemovalSchema,
  receivedInvitationSchema,
  sentInvitationSchema,
  teamMemberSchema,
  teamSchema,
} from './people/team.js';
import { issuedTokenSchema, tokenErrors } from './people/token-request.js';
import { problemCodes } from './problem-codes.js';
import {
  count,
  email,
  fieldChangesSchema,
  filled,
  list,
  optionalTime,
  person,
  text,
  time,
  uuid,
} from './schema-parts.js';
import {
  adoptedServerSchema,
  joinCommandSchema,
  projectServerListSchema,
  projectServerSchema,
} from './servers/adopted-server.js';
import { connectionProjectSchema } from './servers/connection-standing.js';
import {
  apiVersion,
  clusterPhases,
  connectionPhases,
  kubeconfigScopes,
  migrationPhases,
  type OperationErrorCode,
  operationErrorCodes,
  operationKinds,
  operationStates,
  poolSources,
  providers,
} from './states.js';
import { conditionReasonMeanings, conditionTypeMeanings, meaningsList, waitReasonMeanings } from './status-meanings.js';
import { teamEventSchemaOf } from './team-event.js';
import { usageSchema } from './usage.js';
import { createdWebhookSchema, webhookListSchema, webhookSchema, webhookSecretSchema } from './webhooks/webhook.js';

const conditionSchema = exactly({
  type: {
    ...filled,
    description: `Set by this service, beside the conditions of the garden:\n\n${meaningsList(conditionTypeMeanings)}`,
  },
  status: { enum: ['True', 'False', 'Unknown'] },
  reason: {
    ...filled,
    description: `One word. Others than these come from the garden, and more may be added:\n\n${meaningsList(conditionReasonMeanings)}`,
  },
  message: text,
  lastTransitionTime: time,
});

const completeSpecSchema = {
  ...clusterSpecSchema,
  properties: {
    ...clusterSpecSchema.properties,
    hibernationSchedule: {
      ...clusterSpecSchema.properties.hibernationSchedule,
      required: ['timeZone', 'awake', 'exceptions'],
    },
    nodePools: {
      ...clusterSpecSchema.properties.nodePools,
      items: {
        ...nodePoolSpecSchema,
        required: ['name', 'source', 'machineType', 'image', 'minimum', 'maximum', 'publicIP'],
      },
    },
    network: { ...clusterSpecSchema.properties.network, required: ['nodeCIDR', 'podCIDR', 'serviceCIDR'] },
  },
  required: [
    'connectionRef',
    'region',
    'kubernetesVersion',
    'hibernated',
    'controlPlaneHA',
    'plan',
    'deletionProtection',
    'network',
    'nodePools',
  ],
} as const;

const operationErrorSchema = {
  type: 'object',
  additionalProperties: false,
  description: 'Empty unless the operation failed.',
  properties: {
    code: { enum: Object.keys(operationErrorCodes) as OperationErrorCode[] },
    message: filled,
    retryable: { type: 'boolean' },
    hint: filled,
  },
} as const;

/** The parts of the newest operation that do not change while it runs. The rest is in the operation itself. */
const lastOperationSchema = {
  ...exactly({
    id: uuid,
    kind: { enum: operationKinds },
    state: { enum: operationStates },
    error: operationErrorSchema,
    createdAt: time,
  }),
  type: ['object', 'null'],
  description: 'The last operation and its state. To retry a failed one, repeat the PUT or call `retry/`.',
} as const;

export const clusterSchema = exactly({
  apiVersion: { const: apiVersion },
  kind: { const: 'Cluster' },
  metadata: exactly({
    name: filled,
    id: uuid,
    team: filled,
    generation: { type: 'integer', minimum: 1 },
    observedGeneration: count,
    etag: filled,
    createdAt: time,
    updatedAt: time,
  }),
  spec: completeSpecSchema,
  status: exactly({
    phase: { enum: clusterPhases },
    seedName: { type: ['string', 'null'] },
    conditions: { type: 'array', items: conditionSchema },
    migrationPhase: {
      anyOf: [{ enum: migrationPhases }, { type: 'null' }],
      description:
        'While the control plane moves to another seed of the garden, which operators start; otherwise null.',
    },
    cost: costSchema,
    lastOperation: lastOperationSchema,
    ...seenOfCluster,
  }),
});

const resetToDefault = {
  ...fieldChangesSchema,
  description:
    'Only in the answer to a change: the fields that the request left out, so that their default replaced another value.',
} as const;

const wholeNodePoolSchema = exactly({
  name: poolNameSchema,
  source: { enum: poolSources },
  machineType: nodePoolSpecSchema.properties.machineType,
  image: nodePoolSpecSchema.properties.image,
  minimum: count,
  maximum: count,
  publicIP: { type: 'boolean' },
  autoscalerPriority: { type: 'integer' },
  status: exactly({
    pet: {
      type: 'boolean',
      description: 'Whether the nodes are adopted servers, which are not replaced automatically.',
    },
    backingReady: {
      type: ['integer', 'null'],
      description: 'How many of the claimed servers are ready nodes. Null for a managed pool.',
    },
  }),
});

const nodePoolSchema = {
  ...wholeNodePoolSchema,
  properties: { ...wholeNodePoolSchema.properties, resetToDefault },
} as const;

/** Why an open operation is blocked: a reason in one word and a sentence. */
const operationWaitingSchema = {
  ...exactly({
    reason: { ...filled, description: `One word. More may be added:\n\n${meaningsList(waitReasonMeanings)}` },
    message: filled,
    since: time,
  }),
  type: ['object', 'null'],
  description: 'Why an open operation is currently blocked, and since when. Null when it is not blocked.',
} as const;

const operationSchema = exactly({
  id: uuid,
  kind: { enum: operationKinds },
  target: exactly({ kind: filled, name: filled, id: uuid, team: filled }),
  state: { enum: operationStates },
  progress: { type: 'integer', minimum: 0, maximum: 100 },
  error: operationErrorSchema,
  waiting: operationWaitingSchema,
  desiredHash: { type: 'string', pattern: '^sha256:[0-9a-f]{64}$' },
  createdBy: {
    anyOf: [person, { type: 'null' }],
    description: 'Who requested the change. Null if the service began it, and for operations of earlier versions.',
  },
  createdAt: time,
  updatedAt: time,
  self: { type: ['string', 'null'] },
});

const connectionSchema = exactly({
  apiVersion: { const: apiVersion },
  kind: { const: 'Connection' },
  metadata: exactly({
    ref: refSchema,
    name: text,
    id: uuid,
    team: filled,
    generation: { type: 'integer', minimum: 1 },
    etag: filled,
    createdAt: time,
    updatedAt: time,
  }),
  spec: exactly({ name: text, provider: { enum: providers }, providerConfig: { type: 'object' } }),
  status: exactly({
    phase: { enum: connectionPhases },
    verifiedAt: optionalTime,
    message: text,
    project: connectionProjectSchema,
  }),
});

const specChangesSchema = {
  ...fieldChangesSchema,
  description: 'Differences from the current specification, by JSON pointer; `null` means absent.',
} as const;

const acceptedSchema = exactly({ operation: operationSchema, resource: clusterSchema });

const membershipSchema = exactly({ id: count, slug: filled, name: text, role: roleSchema });

const kubeconfigScopeSchema = {
  enum: kubeconfigScopes.map((scope) => `cluster-${scope}` as const),
  description: '`cluster-admin`: full access to this cluster. `cluster-viewer`: reads it, except Secrets.',
} as const;

export const clusterAnswerSchemas = {
  cluster: clusterSchema,
  clusterList: list(clusterSchema),
  accepted: { ...acceptedSchema, properties: { ...acceptedSchema.properties, resetToDefault } },
  clusterDryRun: exactly({
    dryRun: { const: true },
    resource: clusterSchema,
    cost: costSchema,
    costDifference: costDifferenceSchema,
    changes: specChangesSchema,
    effects: effectsSchema,
    recordSets: pointingRecordSetsSchema,
  }),
  deletionDryRun: exactly({
    dryRun: { const: true },
    resource: clusterSchema,
    costDifference: costDifferenceSchema,
    deletes: {
      type: 'array',
      description: 'Resources deleted with the cluster, as far as known without inspecting the cluster.',
      items: exactly({
        kind: filled,
        name: { type: ['string', 'null'] },
        count: { type: ['integer', 'null'] },
        note: text,
      }),
    },
    effects: effectsSchema,
    recordSets: pointingRecordSetsSchema,
  }),
  nodePool: nodePoolSchema,
  nodePoolList: list(nodePoolSchema),
  nodePoolDryRun: exactly({
    dryRun: { const: true },
    resource: nodePoolSchema,
    cost: costSchema,
    costDifference: costDifferenceSchema,
    changes: specChangesSchema,
    effects: effectsSchema,
    recordSets: pointingRecordSetsSchema,
  }),
  operation: operationSchema,
  operationList: list(operationSchema),
  kubeconfig: exactly({
    kubeconfig: { ...filled, description: 'A secret: a credential for the cluster.' },
    expiresAt: time,
    scope: kubeconfigScopeSchema,
  }),
  kubeconfigIssueList: exactly({
    items: {
      type: 'array',
      maxItems: clusterLimits.kubeconfigIssuesShown,
      items: exactly({
        issuedTo: {
          anyOf: [person, { type: 'null' }],
          description: 'Null for a service account and for a former user.',
        },
        serviceAccount: {
          type: ['string', 'null'],
          description: 'The name of the service account to which it was issued.',
        },
        scope: kubeconfigScopeSchema,
        createdAt: time,
        expiresAt: { ...optionalTime, description: 'Null unless the outcome is `completed`.' },
        ttlSeconds: { type: 'integer', description: 'The requested lifetime.' },
        outcome: {
          enum: ['completed', 'refused', 'pending'],
          description: '`refused`: none was issued. `pending`: in progress, or the outcome is not known.',
        },
      }),
    },
  }),
  hostedName: hostedNameSchema,
  hostedNameList: hostedNameListSchema,
  hostedNameDryRun: hostedNameDryRunSchema,
  connection: connectionSchema,
  connectionDryRun: exactly({ dryRun: { const: true }, resource: connectionSchema }),
  connectionAccepted: exactly({ operation: operationSchema, resource: connectionSchema }),
  connectionList: { type: 'array', items: exactly({ items: { type: 'array', items: connectionSchema } }) },
  adoptedServer: adoptedServerSchema,
  adoptedServerDryRun: exactly({
    dryRun: { const: true },
    resource: adoptedServerSchema,
    recordSets: pointingRecordSetsSchema,
  }),
  projectServer: projectServerSchema,
  projectServerList: projectServerListSchema,
  joinCommand: joinCommandSchema,
  adoptedServerList: { type: 'array', items: exactly({ items: { type: 'array', items: adoptedServerSchema } }) },
  dnsToken: dnsTokenSchema,
  createdDnsToken: createdDnsTokenSchema,
  dnsTokenList: list(dnsTokenSchema),
  dnsSession: dnsSessionSchema,
  catalogue: catalogueSchema,
  dnsUsage: dnsUsageSchema,
  recordSetChanges: recordSetChangesSchema,
  danglingRecordSetList: danglingRecordSetListSchema,
  usage: usageSchema,
  auditEntry: auditEntrySchema,
  auditLog: list(auditEntrySchema),
  undoPlan: undoPlanSchemaOf(operationSchema),
  teamEvent: teamEventSchemaOf([
    clusterSchema,
    nodePoolSchema,
    operationSchema,
    adoptedServerSchema,
    connectionSchema,
    rrsetSchema,
    dnsTokenSchema,
    teamMemberSchema,
  ]),
  serviceAccount: serviceAccountSchema,
  serviceAccountList: serviceAccountListSchema,
  accountTokenList: accountTokenListSchema,
  createdAccountToken: createdAccountTokenSchema,
  trustedIssuer: trustedIssuerSchema,
  trustedIssuerList: trustedIssuerListSchema,
  webhook: webhookSchema,
  createdWebhook: createdWebhookSchema,
  webhookSecret: webhookSecretSchema,
  webhookList: webhookListSchema,
  teamList: list(membershipSchema),
  team: teamSchema,
  teamDetailList: list(teamSchema),
  memberRemoval: memberRemovalSchema,
  memberDryRun: memberDryRunSchema,
  teamMember: teamMemberSchema,
  teamMemberList: list(teamMemberSchema),
  invitation: invitationSchema,
  sentInvitationList: list(sentInvitationSchema),
  receivedInvitation: receivedInvitationSchema,
  receivedInvitationList: list(receivedInvitationSchema),
  billingOutcome: billingOutcomeSchema,
  sessionList: list(sessionSchema),
  notifications: notificationsSchema,
  issuedToken: issuedTokenSchema,
  deviceAuthorization: deviceAuthorizationSchema,
  deviceSignIn: deviceSignInSchema,
  devPeople: exactly({
    items: {
      type: 'array',
      items: exactly({
        email,
        displayName: text,
        teams: { type: 'array', items: exactly({ slug: filled, role: roleSchema }) },
      }),
    },
  }),
  me: exactly({
    id: count,
    email,
    displayName: text,
    session: exactly({ createdAt: time, expiresAt: time, idleExpiresAt: time }),
    teams: { type: 'array', items: membershipSchema },
  }),
} as const;
export type ClusterAnswer = keyof typeof clusterAnswerSchemas;
export type ClusterAnswerBody<A extends ClusterAnswer> = FromSchema<(typeof clusterAnswerSchemas)[A]>;

export const problemSchema = closed(['type', 'title', 'status', 'detail', 'code', 'instance', 'operationId'], {
  type: { type: 'string', pattern: '^https?://.+/problems/[a-z_]+$' },
  title: filled,
  status: { type: 'integer' },
  detail: filled,
  code: { enum: Object.keys(problemCodes) },
  instance: { type: ['string', 'null'] },
  operationId: { type: ['string', 'null'] },
  errors: {
    type: 'array',
    description:
      'Each reason for which the request was refused, with the field that it is about. `status`, `code` and `detail` of the ' +
      'problem are those of the first one.',
    items: exactly({
      pointer: { ...text, description: 'JSON pointer into the body. Empty: the request as a whole.' },
      code: { enum: Object.keys(problemCodes) },
      message: { ...filled, description: 'Continues a sentence that begins with the name of the field.' },
      detail: { ...filled, description: 'A complete sentence that says what to do.' },
    }),
  },
  error: {
    enum: tokenErrors,
    description:
      'Only in answers of `/auth/token/` and `/auth/device/`: the code for OAuth clients (RFC 6749 section 5.2, RFC 8693, RFC 8628).',
  },
  error_description: { ...filled, description: 'Only with `error`: `detail` in the characters of RFC 6749.' },
});

export type Cluster = FromSchema<typeof clusterSchema>;
export type NodePool = FromSchema<typeof nodePoolSchema>;
export type Operation = FromSchema<typeof operationSchema>;
export type Connection = FromSchema<typeof connectionSchema>;
export type Condition = FromSchema<typeof conditionSchema>;
export type ProblemBody = FromSchema<typeof problemSchema>;
export type OperationError = FromSchema<typeof operationErrorSchema>;
export type OperationWaiting = NonNullable<FromSchema<typeof operationWaitingSchema>>;

/** Throws `InvalidBody` when an answer does not match its schema. */
export const checkClusterAnswer: Record<ClusterAnswer | 'problem', (body: unknown) => unknown> = Object.fromEntries(
  Object.entries({ ...clusterAnswerSchemas, problem: problemSchema }).map(([name, schema]) => [
    name,
    parserFor<unknown>(schema),
  ]),
) as Record<ClusterAnswer | 'problem', (body: unknown) => unknown>;
