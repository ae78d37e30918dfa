import { personOf } from '@corral/auth';
import type { OperationRecord } from '@corral/cluster-data';
import type { Operation, OperationId } from '@corral/contracts';

export interface OperationContext {
  readonly team: { readonly slug: string };
  /** Base URL of this service, without a trailing slash. */
  readonly publicUrl: string;
}

/** An operation as clients see it. */
export function operationBody(operation: OperationRecord, context: OperationContext): Operation {
  const { id, kind, target, state, progress, error, waiting, desiredHash, createdAt, updatedAt, creator } = operation;
  return {
    id,
    kind,
    state,
    progress,
    error,
    waiting,
    desiredHash,
    target: { kind: target.kind, name: target.name, id: target.id, team: context.team.slug },
    createdBy: creator && personOf(creator),
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    self: operationUrl(operation, context),
  };
}

/** The URL for polling the operation. */
export function operationUrl({ id }: { readonly id: OperationId }, { team, publicUrl }: OperationContext): string {
  return `${publicUrl}/api/v1/teams/${team.slug}/operations/${id}/`;
}
