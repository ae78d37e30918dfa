import type { Cluster, Operation } from '@corral/contracts';

/** The clusters whose nodes run in the project of a connection. */
export const clustersUsing = (clusters: readonly Cluster[], ref: string): readonly Cluster[] =>
  clusters.filter(({ spec }) => spec.connectionRef === ref);

/** The newest verification among the operations of a connection, which come newest first. */
export const lastVerification = (operations: readonly Operation[], connectionId: string): Operation | undefined =>
  operations.find(({ kind, target }) => kind === 'connection.verify' && target.id === connectionId);

export const isOpen = ({ state }: Pick<Operation, 'state'>): boolean => state === 'queued' || state === 'running';

/** What an operation on a server or connection waits for, or failed with; null when there is nothing to say. */
export function storyOf({ state, error, waiting }: Pick<Operation, 'state' | 'error' | 'waiting'>): string | null {
  if (state === 'failed') return [error.message, error.hint].filter((text) => text !== undefined).join(' ') || null;
  return isOpen({ state }) ? (waiting?.message ?? null) : null;
}
