import type { Operation } from '@corral/contracts';
import type { OperationRecord } from './cluster-record.js';

export interface OperationContext {
  readonly team: { readonly slug: string };
  /** Base address of this service, without a slash at its end. */
  readonly publicUrl: string;
}

/** An operation as clients see it. */
export function operationBody(operation: OperationRecord, context: OperationContext): Operation {
  const { id, kind, target, state, progress, error, waiting, desiredHash, createdAt, updatedAt } = operation;
  return {
    ...{ id, kind, state, progress, error, waiting, desiredHash },
    target: { kind: target.kind, name: target.name, id: target.id, team: context.team.slug },
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    self: operationUrl(operation, context),
  };
}

/** Where the operation can be polled. */
export function operationUrl({ id }: Pick<OperationRecord, 'id'>, { team, publicUrl }: OperationContext): string {
  return `${publicUrl}/api/v1/teams/${team.slug}/operations/${id}/`;
}
