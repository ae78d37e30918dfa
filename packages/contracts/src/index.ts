export { assertNever } from './assert-never.js';
export type { BodyLimits } from './body-limits.js';
export * from './cluster/access.js';
export * from './cluster/accounts/account-access.js';
export * from './cluster/accounts/service-account.js';
export * from './cluster/accounts/trusted-issuer.js';
export * from './cluster/answers.js';
export type { CatalogueBody } from './cluster/clusters/catalogue.js';
export * from './cluster/clusters/cost.js';
export type { ChangeEffect, ClusterEffect, PoolEffect } from './cluster/clusters/effects.js';
export * from './cluster/clusters/requests.js';
export type { ObservedCluster } from './cluster/clusters/seen-cluster.js';
export * from './cluster/dns/audit-entry.js';
export * from './cluster/dns/dns-token.js';
export * from './cluster/dns/dns-usage.js';
export { clusterRequestExamples } from './cluster/examples.js';
export * from './cluster/limits.js';
export * from './cluster/openapi.js';
export * from './cluster/people/authorization.js';
export * from './cluster/people/sign-in.js';
export * from './cluster/people/subscription.js';
export * from './cluster/people/team.js';
export * from './cluster/people/token-request.js';
export * from './cluster/problem-codes.js';
export * from './cluster/roles.js';
export * from './cluster/routes.js';
export type { FieldChange } from './cluster/schema-parts.js';
export * from './cluster/servers/adopted-server.js';
export * from './cluster/servers/connection-standing.js';
export * from './cluster/servers/server-error-codes.js';
export * from './cluster/states.js';
export type {
  ClusterWaitReason,
  ConditionReason,
  OwnConditionTypeName,
  ServerWaitReason,
} from './cluster/status-meanings.js';
export * from './cluster/team-event.js';
export * from './cluster/usage.js';
export * from './dns/answers.js';
export * from './dns/error-codes.js';
export * from './dns/errors-of.js';
export * from './dns/expiry.js';
export * from './dns/limits.js';
export * from './dns/names.js';
export * from './dns/openapi.js';
export * from './dns/record-quota.js';
export * from './dns/record-values.js';
export * from './dns/requests.js';
export * from './dns/routes.js';
export * from './dns/zone-file/parse-zone-file.js';
export { writeZoneFile } from './dns/zone-file/write-zone-file.js';
export { placeOf } from './field-messages.js';
export * from './ids.js';
export { InvalidBody, type InvalidField, isObject, type JsonObject } from './parser-for.js';
export * from './retention.js';
export * from './team-quotas.js';
export { cutText, isShownName, shownNameOf, storableText, type TextRule, textRules } from './text-rules.js';
export { parseTime } from './time.js';
