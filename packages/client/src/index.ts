export {
  type ClusterSchemas,
  type CorralClient,
  createClient,
  type ItemOf,
  type LinesId,
  type ListId,
  type OperationId,
  type RawRequest,
  type TaggedId,
} from './cluster-client.js';
export { type ClientErrorCode, CorralError, type FieldProblem, isCorralError } from './corral-error.js';
export type { Credentials } from './credentials.js';
export {
  type CorralDnsClient,
  createDnsClient,
  type DnsAction,
  type DnsItemOf,
  type DnsListId,
  type DnsOperationId,
  type DnsSchemas,
} from './dns-client.js';
export { edit } from './edit.js';
export type { FollowOptions, StreamMessage, TeamEvent } from './follow-events.js';
export type { operations as ClusterOperations } from './generated/cluster-api.js';
export type { operations as DnsOperations } from './generated/dns-api.js';
export { rolesNeeded } from './generated/roles-needed.js';
export { newIdempotencyKey } from './idempotency-key.js';
export type {
  Answer,
  AnswerOf,
  BodyOf,
  CallLimits,
  CallOptions,
  OperationRef,
  PathOf,
  QueryOf,
} from './operation-types.js';
export { type ExchangeOptions, exchangedToken, type IssuedToken, renewedToken } from './renewed-token.js';
export type { ClientOptions } from './transport.js';
export type { Operation, WaitOptions } from './wait-for-operation.js';
