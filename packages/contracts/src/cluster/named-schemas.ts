import { rrsetSchema } from '../dns/answers.js';
import { writableTypes } from '../dns/names.js';
import type { NamedSchemas } from '../openapi/schemas.js';
import { accountActions, accountTokenPostSchema, serviceAccountPutSchema } from './accounts/service-account.js';
import { trustedIssuerPutSchema } from './accounts/trusted-issuer.js';
import { type ClusterAnswer, clusterAnswerSchemas, problemSchema } from './answers.js';
import { clusterEffectKinds, effectsSchema, poolEffectKinds } from './clusters/effects.js';
import { hostedNamePostSchema } from './clusters/hosted-name.js';
import {
  clusterPutSchema,
  connectionPostSchema,
  connectionPutSchema,
  kubeconfigRequestSchema,
  nodePoolPutSchema,
} from './clusters/requests.js';
import { auditActorKinds, auditKinds, auditOutcomes } from './dns/audit-entry.js';
import { dnsScopes, dnsTokenPostSchema, dnsTokenStates } from './dns/dns-token.js';
import { pointingRecordSetsSchema } from './dns/pointing-record-sets.js';
import { clusterAnswerExamples } from './examples.js';
import { nodeCidrs } from './limits.js';
import { notificationKinds, notificationsPutSchema } from './people/notifications.js';
import { signInMethods } from './people/sign-in.js';
import { billingEventSchema, billingOutcomes } from './people/subscription.js';
import { dnsTokenHandlings, invitationPostSchema, memberPutSchema, teamPutSchema } from './people/team.js';
import { problemCodes } from './problem-codes.js';
import { roles } from './roles.js';
import { fieldChangesSchema, person, time, uuid } from './schema-parts.js';
import { adoptedServerPostSchema } from './servers/adopted-server.js';
import {
  clusterPhases,
  connectionPhases,
  hostedNameStates,
  kubeconfigScopes,
  migrationPhases,
  operationErrorCodes,
  operationKinds,
  operationStates,
  plans,
  poolSources,
  providers,
  serverArchitectures,
  serverKinds,
  serverPhases,
} from './states.js';
import {
  clusterPhaseMeanings,
  connectionPhaseMeanings,
  hostedNameStateMeanings,
  meaningsList,
  migrationPhaseMeanings,
  operationStateMeanings,
  serverPhaseMeanings,
} from './status-meanings.js';
import { teamEventChanges, teamEventKinds } from './team-event.js';
import { usageSteps } from './usage.js';
import { webhookPutSchema, webhookReplaySchema } from './webhooks/webhook.js';

const grows = 'More values may be added.';
const listed = (values: readonly string[], description?: string) => ({
  enum: values,
  ...(description === undefined ? {} : { description }),
});

/** Enumerations, which are the same in requests, answers and parameters. */
const shared = {
  AccountAction: listed(accountActions),
  AuditActorKind: listed(auditActorKinds, grows),
  AuditKind: listed(auditKinds, grows),
  AuditOutcome: listed(auditOutcomes, grows),
  BillingOutcomeKind: listed(billingOutcomes),
  ClusterEffectKind: listed(Object.keys(clusterEffectKinds), grows),
  ClusterPhase: listed(clusterPhases, meaningsList(clusterPhaseMeanings)),
  ConditionStatus: clusterAnswerSchemas.cluster.properties.status.properties.conditions.items.properties.status,
  ConnectionPhase: listed(connectionPhases, meaningsList(connectionPhaseMeanings)),
  DnsScope: listed(dnsScopes),
  DnsTokenHandling: listed(dnsTokenHandlings),
  DnsTokenState: listed(dnsTokenStates),
  HostedNameState: listed(hostedNameStates, meaningsList(hostedNameStateMeanings)),
  KubeconfigScope: listed(kubeconfigScopes),
  MigrationPhase: listed(migrationPhases, meaningsList(migrationPhaseMeanings)),
  NodeCidr: listed(nodeCidrs),
  OperationErrorCode: listed(Object.keys(operationErrorCodes), grows),
  OperationKind: listed(operationKinds, grows),
  OperationState: listed(operationStates, meaningsList(operationStateMeanings)),
  NotificationKind: listed(notificationKinds, grows),
  Plan: listed(plans),
  PoolEffectKind: listed(Object.keys(poolEffectKinds), grows),
  PoolSource: listed(poolSources, grows),
  ProblemCode: listed(Object.keys(problemCodes), grows),
  Provider: listed(providers),
  Role: listed(roles),
  ServerArchitecture: listed(serverArchitectures),
  ServerKind: listed(serverKinds),
  ServerPhase: listed(serverPhases, meaningsList(serverPhaseMeanings)),
  SignInMethod: listed(signInMethods),
  TeamEventChange: listed(teamEventChanges),
  TeamEventKind: listed(teamEventKinds, grows),
  UsageStep: listed(usageSteps),
  WritableRecordType: listed(writableTypes),
} as const;

/** The names of the answers whose own name says too little outside the route table. */
const answerNames: Partial<Record<ClusterAnswer, string>> = {
  accepted: 'ClusterAccepted',
  deletionDryRun: 'ClusterDeletionDryRun',
  teamList: 'TeamMembershipList',
  teamDetailList: 'TeamList',
};

/** The name of an answer in the document. */
export const answerNameOf = (answer: ClusterAnswer): string =>
  answerNames[answer] ?? `${answer[0]?.toUpperCase()}${answer.slice(1)}`;

const { cluster, nodePool, operation, connection, adoptedServer, serviceAccount, auditEntry } = clusterAnswerSchemas;
const { trustedIssuer, webhook, team, teamList, usage, undoPlan } = clusterAnswerSchemas;
const { items: undoItem } = undoPlan.properties.items;
const { spec: clusterSpec, status: clusterStatus } = cluster.properties;
const [subscription] = team.properties.subscription.anyOf;
const [clusterEffect, poolEffect] = effectsSchema.items.anyOf;
const { items: costItem } = clusterStatus.properties.cost.properties.items;
const { properties: dnsWrite } = auditEntry.properties.dns.anyOf[0];

/** The parts of answers that stand in several of them, or that clients name. */
const answerParts = {
  Problem: problemSchema,
  ProblemField: problemSchema.properties.errors.items,
  ClusterMetadata: cluster.properties.metadata,
  ClusterSpec: clusterSpec,
  ClusterNetwork: clusterSpec.properties.network,
  HibernationSchedule: clusterSpec.properties.hibernationSchedule,
  NodePoolSpec: clusterSpec.properties.nodePools.items,
  ClusterStatus: clusterStatus,
  Condition: clusterStatus.properties.conditions.items,
  ObservedNodePool: clusterStatus.properties.nodePools.items,
  LastOperation: { ...clusterStatus.properties.lastOperation, type: 'object' },
  KubernetesInUse: { ...clusterStatus.properties.kubernetes, type: 'object' },
  ApiServer: { ...clusterStatus.properties.apiServer, type: 'object' },
  Maintenance: { ...clusterStatus.properties.maintenance, type: 'object' },
  Cost: clusterStatus.properties.cost,
  CostItem: costItem,
  CostRange: costItem.properties.hourly,
  CostDifference: clusterAnswerSchemas.clusterDryRun.properties.costDifference,
  CostDifferenceRange: clusterAnswerSchemas.clusterDryRun.properties.costDifference.properties.hourly,
  DeletedThing: clusterAnswerSchemas.deletionDryRun.properties.deletes.items,
  PointingRecordSet: pointingRecordSetsSchema.items,
  DanglingRecordSet: clusterAnswerSchemas.danglingRecordSetList.properties.items.items,
  ChangeEffect: effectsSchema.items,
  ClusterEffect: clusterEffect,
  PoolEffect: poolEffect,
  NodeRange: { ...poolEffect.properties.nodes.properties.before, type: 'object' },
  FieldChange: fieldChangesSchema.items,
  NodePoolStatus: nodePool.properties.status,
  OperationTarget: operation.properties.target,
  OperationError: operation.properties.error,
  OperationWaiting: { ...operation.properties.waiting, type: 'object' },
  Person: person,
  ConnectionMetadata: connection.properties.metadata,
  ConnectionSpec: connection.properties.spec,
  ConnectionStatus: connection.properties.status,
  ConnectionProject: { ...connection.properties.status.properties.project, type: 'object' },
  AdoptedServerSpec: adoptedServer.properties.spec,
  AdoptedServerMetadata: adoptedServer.properties.metadata,
  AdoptedServerStatus: adoptedServer.properties.status,
  ServiceAccountMetadata: serviceAccount.properties.metadata,
  ServiceAccountSpec: serviceAccount.properties.spec,
  AccountNarrowing: serviceAccount.properties.spec.properties.narrowing,
  AccountDns: serviceAccount.properties.spec.properties.narrowing.properties.dns,
  AccountToken: clusterAnswerSchemas.accountTokenList.properties.items.items,
  TrustedIssuerMetadata: trustedIssuer.properties.metadata,
  TrustedIssuerSpec: trustedIssuer.properties.spec,
  WebhookMetadata: webhook.properties.metadata,
  WebhookSpec: webhook.properties.spec,
  WebhookStatus: webhook.properties.status,
  IssuedScope: clusterAnswerSchemas.kubeconfig.properties.scope,
  KubeconfigIssue: clusterAnswerSchemas.kubeconfigIssueList.properties.items.items,
  InstalledObject: clusterAnswerSchemas.hostedName.properties.objects.items,
  SentInvitation: clusterAnswerSchemas.sentInvitationList.properties.items.items,
  Session: clusterAnswerSchemas.sessionList.properties.items.items,
  Subscription: subscription,
  TeamMembership: teamList.properties.items.items,
  LeftDnsTokens: clusterAnswerSchemas.memberRemoval.properties.dns_tokens,
  LeftDnsToken: clusterAnswerSchemas.memberRemoval.properties.dns_tokens.properties.revoked.items,
  UsagePoint: usage.properties.points.items,
  SavedBySleep: usage.properties.savedBySleep.items,
  AuditActor: auditEntry.properties.actor,
  AuditTarget: auditEntry.properties.target,
  DnsWrite: auditEntry.properties.dns.anyOf[0],
  UndoItem: undoItem,
  LaterChange: undoItem.properties.changedSince.items,
  DnsCall: undoItem.properties.calls.items,
  CutBody: dnsWrite.requestBodyCut.anyOf[0],
  Rrset: rrsetSchema,
  RrsetRecord: rrsetSchema.properties.records.items,
  Price: clusterAnswerSchemas.catalogue.properties.regions.items.properties.publicIPv4,
  QuotaUse: clusterAnswerSchemas.catalogue.properties.limits.properties.clusters,
} as const;

const { spec: clusterSpecInput } = clusterPutSchema.properties;
const [nodePoolDeclaration, nodePoolAsRead] = nodePoolPutSchema.anyOf;

const requests = {
  NewHostedName: hostedNamePostSchema,
  ClusterDeclaration: clusterPutSchema,
  ClusterSpecInput: clusterSpecInput,
  HibernationScheduleInput: clusterSpecInput.properties.hibernationSchedule,
  ClusterNetworkInput: clusterSpecInput.properties.network,
  NodePoolSpecInput: nodePoolDeclaration.properties.spec,
  NodePoolDeclaration: nodePoolDeclaration,
  NodePoolAsRead: nodePoolAsRead,
  ConnectionDeclaration: connectionPutSchema,
  ConnectionSpecInput: connectionPutSchema.properties.spec,
  NewConnection: connectionPostSchema,
  NewConnectionSpec: connectionPostSchema.properties.spec,
  KubeconfigRequest: kubeconfigRequestSchema,
  AdoptedServerSpecInput: adoptedServerPostSchema.properties.spec,
  ServerAdoption: adoptedServerPostSchema,
  NewDnsToken: dnsTokenPostSchema,
  ServiceAccountDeclaration: serviceAccountPutSchema,
  ServiceAccountSpecInput: serviceAccountPutSchema.properties.spec,
  AccountNarrowingInput: serviceAccountPutSchema.properties.spec.properties.narrowing,
  AccountDnsInput: serviceAccountPutSchema.properties.spec.properties.narrowing.properties.dns,
  NewAccountToken: accountTokenPostSchema,
  TrustedIssuerDeclaration: trustedIssuerPutSchema,
  TrustedIssuerSpecInput: trustedIssuerPutSchema.properties.spec,
  WebhookDeclaration: webhookPutSchema,
  WebhookSpecInput: webhookPutSchema.properties.spec,
  WebhookReplay: webhookReplaySchema,
  TeamChange: teamPutSchema,
  MemberChange: memberPutSchema,
  NotificationsChange: notificationsPutSchema,
  NewInvitation: invitationPostSchema,
  BillingEvent: billingEventSchema,
  StatedSubscription: { ...billingEventSchema.properties.subscription, type: 'object' },
} as const;

/** All answers but that of the development set-up. */
const { devPeople: _devPeople, ...documentedAnswers } = clusterAnswerSchemas;

export const clusterNamedSchemas: NamedSchemas = {
  shared: { ...shared, NodePoolImage: nodePool.properties.image, Time: time, Uuid: uuid },
  answers: {
    ...answerParts,
    ...Object.fromEntries(
      Object.entries(documentedAnswers).map(([answer, schema]) => [answerNameOf(answer as ClusterAnswer), schema]),
    ),
  },
  requests,
  examples: clusterAnswerExamples,
  nullMeansAbsent: true,
};
