import type { OperationRecord } from '@corral/cluster-data';
import { nextLookSeconds } from '@corral/contracts';
import type { Response } from 'express';
import { type OperationContext, operationUrl } from '../operations/body.js';

/** Says where and when to look at an operation that a request has begun. */
export function announceOperation(
  res: Response,
  operation: Pick<OperationRecord, 'id' | 'kind' | 'state' | 'waiting'>,
  context: OperationContext,
): void {
  res.set('Operation-Location', operationUrl(operation, context));
  res.set('Retry-After', String(nextLookSeconds(operation)));
}
