import { type Cluster, type Connection, isOpenOperation, type Operation } from '@corral/contracts';

/** The clusters whose nodes run in the project of a connection. */
export const clustersUsing = (clusters: readonly Cluster[], ref: string): readonly Cluster[] =>
  clusters.filter(({ spec }) => spec.connectionRef === ref);

/**
 * The newest verification of what the connection has now: a finished one of before its last change says nothing about it.
 *
 * @param operations newest first
 */
export function lastVerification(
  operations: readonly Operation[],
  { id, updatedAt }: Pick<Connection['metadata'], 'id' | 'updatedAt'>,
): Operation | undefined {
  const last = operations.find(({ kind, target }) => kind === 'connection.verify' && target.id === id);
  return last !== undefined && (isOpenOperation(last) || Date.parse(last.updatedAt) >= Date.parse(updatedAt))
    ? last
    : undefined;
}

/** What an operation on a server or connection waits for, or failed with; null when there is nothing to say. */
export function storyOf({ state, error, waiting }: Pick<Operation, 'state' | 'error' | 'waiting'>): string | null {
  if (state === 'failed') return [error.message, error.hint].filter((text) => text !== undefined).join(' ') || null;
  return isOpenOperation({ state }) ? (waiting?.message ?? null) : null;
}
