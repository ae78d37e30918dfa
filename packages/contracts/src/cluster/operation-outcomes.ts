import {
  type OperationErrorCode,
  type OperationKind,
  type OperationState,
  openOperationStates,
  operationErrorCodes,
} from './states.js';

/** How an operation ended, for statistics: failures that the team can fix itself are not those of the service. */
export const operationOutcomes = ['succeeded', 'failed_user', 'failed_platform', 'superseded', 'cancelled'] as const;

/** Codes with which an operation ends as `failed_user`. */
export const userFaultCodes: readonly OperationErrorCode[] = Object.entries(operationErrorCodes)
  .filter(([, { fault }]) => fault === 'user')
  .map(([code]) => code as OperationErrorCode);

/**
 * Seconds from the request within which an operation is to succeed. The times of clusters are those of their nodes: a rolling
 * update replaces one after the other. Null: the end may wait for what a person does with the machine.
 */
export const operationSecondsMax = {
  'cluster.create': 1_800,
  'cluster.update': 7_200,
  'cluster.hibernate': 1_800,
  'cluster.resume': 1_800,
  'cluster.delete': 3_600,
  'connection.verify': 300,
  'server.adopt': null,
  'server.deregister': null,
} as const satisfies Record<OperationKind, number | null>;

/** Seconds in which the work of an operation usually shows something new: how often passes look at what it waits for. */
const runningSeconds = {
  'cluster.create': 5,
  'cluster.update': 5,
  'cluster.hibernate': 5,
  'cluster.resume': 5,
  'cluster.delete': 5,
  'connection.verify': 1,
  'server.adopt': 10,
  'server.deregister': 10,
} as const satisfies Record<OperationKind, number>;
/** The wake-up of an accepted change is on its way. */
const QUEUED_SECONDS = 1;
/** What blocks an operation is tried again with growing pauses. */
const BLOCKED_SECONDS = 15;

/** `Retry-After` of an operation: the seconds after which a look at it may show something new. 0 for one that has ended. */
export function nextLookSeconds(operation: {
  readonly kind: OperationKind;
  readonly state: OperationState;
  readonly waiting: object | null;
}): number {
  const { kind, state, waiting } = operation;
  if (!(openOperationStates as readonly OperationState[]).includes(state)) return 0;
  if (waiting !== null) return BLOCKED_SECONDS;
  return state === 'queued' ? QUEUED_SECONDS : runningSeconds[kind];
}
