import { type OperationErrorCode, type OperationKind, operationErrorCodes } from './states.js';

/** How an operation ended, for statistics: failures that the team can fix itself are not those of the service. */
export const operationOutcomes = ['succeeded', 'failed_user', 'failed_platform', 'superseded', 'cancelled'] as const;
export type OperationOutcome = (typeof operationOutcomes)[number];

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
