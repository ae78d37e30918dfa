import { isOpenOperation, type OperationState } from '@corral/contracts';
import type { RowChange } from '../clusters/row-history.js';

/*
 * The rules that every row must obey at every moment, written independently of the code that they check. Each function
 * returns a description of every violation, and an empty list if there is none.
 */

export interface OperationRow {
  readonly id: string;
  readonly kind: string;
  readonly target_id: string;
  readonly target_name: string;
  readonly generation: number;
  readonly state: OperationState;
  readonly progress: number;
  readonly error: object;
  readonly desired_hash: string;
}

export interface ClusterRow {
  readonly id: string;
  readonly name: string;
  readonly generation: number;
  readonly observed_generation: number;
  readonly lease_fence: number;
  readonly started_at: string | null;
  readonly shoot_name: string;
  readonly shoot_uid: string | null;
}

type Change<R> = Omit<RowChange, 'row'> & { readonly row: R };

/** Returns each item with the next one. */
export const pairs = <T>(items: readonly T[]): [T, T][] =>
  items.slice(1).map((item, index) => [items[index] as T, item]);

export const changesOf = <R>(changes: readonly RowChange[], table: string): Change<R>[] =>
  changes.filter((change) => change.table === table);

/** Every operation ends, keeps its final state unless it succeeds after a failure, and never goes back before that. */
function findBrokenOperations(changes: readonly RowChange[]): string[] {
  const histories = Map.groupBy(changesOf<OperationRow>(changes, 'operation'), ({ row }) => row.id);
  return [...histories].flatMap(([id, history]) => [
    ...pairs(history).flatMap(([before, after]) => brokenStep(before, after)),
    ...history.flatMap(({ row }) => brokenState(row)),
    ...(isOpenOperation((history.at(-1) as Change<OperationRow>).row) ? [`operation ${id} never ended`] : []),
  ]);
}

const fixedOfOperation = ['kind', 'target_id', 'target_name', 'generation', 'desired_hash'] as const;

function brokenStep({ row: before }: Change<OperationRow>, { row: after, kind }: Change<OperationRow>): string[] {
  const operation = `operation ${before.id}`;
  const succeedsLate = before.state === 'failed' && after.state === 'succeeded';
  if (kind === 'DELETE') return [`${operation} was removed`];
  const changed = fixedOfOperation.filter((field) => before[field] !== after[field]);
  return [
    ...changed.map((field) => `${operation} changed its ${field}`),
    ...(!isOpenOperation(before) && after.state !== before.state && !succeedsLate
      ? [`${operation} had ended ${before.state} and became ${after.state}`]
      : []),
    ...(!isOpenOperation(before) && !succeedsLate && JSON.stringify(after.error) !== JSON.stringify(before.error)
      ? [`${operation} had ended and got another error`]
      : []),
    ...(after.progress < before.progress ? [`${operation} fell from ${before.progress} to ${after.progress} %`] : []),
    ...(before.state === 'running' && after.state === 'queued' ? [`${operation} went back to queued`] : []),
  ];
}

function brokenState({ id, state, progress, error }: OperationRow): string[] {
  const hasError = Object.keys(error).length > 0;
  return [
    ...((progress === 100) === (state === 'succeeded') ? [] : [`operation ${id} is ${state} at ${progress} %`]),
    ...(hasError === (state === 'failed') ? [] : [`operation ${id} is ${state} with error ${JSON.stringify(error)}`]),
  ];
}

/**
 * Each target has at most one open operation at the end of each transaction, and each operation has a later generation
 * than the one before. The detachment of a server does not create a new generation.
 */
function findRivalOperations(changes: readonly RowChange[]): string[] {
  const histories = Map.groupBy(changesOf<OperationRow>(changes, 'operation'), ({ row }) => row.target_id);
  return [...histories].flatMap(([target, history]) => {
    const open = new Set<string>();
    let newest = 0;
    return transactionsOf(history).flatMap((transaction) => [
      ...transaction.flatMap(({ row, kind }) => {
        if (isOpenOperation(row)) open.add(row.id);
        else open.delete(row.id);
        const oldest = row.kind === 'server.deregister' ? newest : newest + 1;
        const overtaken = kind === 'INSERT' && row.generation < oldest;
        if (kind === 'INSERT') newest = row.generation;
        return overtaken ? [`operation ${row.id} on ${target} is not of a later generation than the one before`] : [];
      }),
      ...(open.size > 1 ? [`${target} has ${open.size} open operations: ${[...open].join(', ')}`] : []),
    ]);
  });
}

/** The changes of each transaction, in the order in which they ended. Others may have changed other rows meanwhile. */
function transactionsOf<C extends RowChange>(changes: readonly C[]): C[][] {
  const endOf = (of: readonly C[]): number => of.at(-1)?.seq ?? 0;
  return [...Map.groupBy(changes, ({ transaction }) => transaction).values()].toSorted((a, b) => endOf(a) - endOf(b));
}

/** Every final state of an operation of a cluster has its reason: converged, superseded by a later one, or never started and deleted. */
function findUnfoundedEnds(changes: readonly RowChange[]): string[] {
  const clusters = Map.groupBy(changesOf<ClusterRow>(changes, 'cluster'), ({ row }) => row.id);
  const operations = changesOf<OperationRow>(changes, 'operation').filter(({ row }) => row.kind.startsWith('cluster.'));
  const accepted = Map.groupBy(
    operations.filter(({ kind }) => kind === 'INSERT'),
    ({ transaction }) => transaction,
  );
  return [...Map.groupBy(operations, ({ row }) => row.id).values()].flatMap((history) => {
    const end = history.find(({ row }) => !isOpenOperation(row));
    if (end === undefined) return [];
    const { row } = end;
    const cluster = clusters.get(row.target_id) ?? [];
    const isGone = cluster.some(({ kind, transaction }) => kind === 'DELETE' && transaction === end.transaction);
    const state = stateAfter(cluster, end);
    const isConverged =
      state !== undefined && (state.observed_generation >= row.generation || state.started_at === null);
    const reasons: Partial<Record<OperationState, boolean>> = {
      succeeded: row.kind === 'cluster.delete' ? isGone : isConverged,
      superseded:
        accepted
          .get(end.transaction)
          ?.some((other) => other.row.target_id === row.target_id && other.row.generation > row.generation) ?? false,
      cancelled: isGone,
    };
    return reasons[row.state] === false ? [`operation ${row.id} (${row.kind}) is ${row.state} without a reason`] : [];
  });
}

/** The row as it was at the end of the transaction of `moment`. */
function stateAfter(history: readonly Change<ClusterRow>[], moment: Change<unknown>): ClusterRow | undefined {
  return history.findLast(({ seq, transaction }) => seq < moment.seq || transaction === moment.transaction)?.row;
}

/** Generations, observed generations and fences only grow. The fields that identify a cluster never change. */
function findBrokenClusters(changes: readonly RowChange[]): string[] {
  const histories = Map.groupBy(changesOf<ClusterRow>(changes, 'cluster'), ({ row }) => row.id);
  return [...histories].flatMap(([id, history]) => [
    ...pairs(history).flatMap(([{ row: before }, { row: after }]) => [
      ...(['generation', 'observed_generation', 'lease_fence'] as const)
        .filter((field) => after[field] < before[field])
        .map((field) => `${field} of cluster ${id} fell from ${before[field]} to ${after[field]}`),
      ...(['name', 'shoot_name'] as const)
        .filter((field) => after[field] !== before[field])
        .map((field) => `${field} of cluster ${id} changed`),
      ...(before.shoot_uid !== null && after.shoot_uid !== before.shoot_uid
        ? [`cluster ${id} took up another Shoot: ${before.shoot_uid} became ${after.shoot_uid}`]
        : []),
      ...(before.started_at !== null && after.started_at === null ? [`cluster ${id} became a draft again`] : []),
    ]),
    ...history
      .filter(({ row }) => row.observed_generation > row.generation)
      .map(({ row }) => `cluster ${id} was observed at ${row.observed_generation} of ${row.generation} generations`),
  ]);
}

export interface AuditRow {
  readonly id: number;
  readonly action: string;
  readonly target_id: string;
  readonly user_id: string | null;
}

/** Each accepted change is in the audit log, written by the same transaction, and stays there. */
function findAuditGaps(changes: readonly RowChange[]): string[] {
  const entries = changesOf<AuditRow>(changes, 'audit_entry');
  const entriesOf = Map.groupBy(entries, ({ transaction }) => transaction);
  const accepted = changesOf<OperationRow>(changes, 'operation').filter(({ kind }) => kind === 'INSERT');
  const removed = changesOf<ClusterRow>(changes, 'cluster').filter(({ kind }) => kind === 'DELETE');
  return [
    ...[...Map.groupBy(entries, ({ row }) => String(row.id)).values()].flatMap(alteredEntry),
    ...accepted
      .filter(({ transaction }) => entriesOf.get(transaction)?.length !== 1)
      .map(({ row }) => `operation ${row.id} (${row.kind}) was accepted without its own audit entry`),
    ...removed
      .filter(({ transaction }) => entriesOf.get(transaction) === undefined)
      .map(({ row }) => `cluster ${row.id} was removed without an audit entry`),
  ];
}

/** The outcome of a request may be added later. Who asked for what never changes. */
function alteredEntry(history: readonly Change<AuditRow>[]): string[] {
  const first = history[0] as Change<AuditRow>;
  const isAltered = history.some(
    ({ kind, row }) =>
      kind === 'DELETE' ||
      (['action', 'target_id', 'user_id'] as const).some((field) => row[field] !== first.row[field]),
  );
  return isAltered ? [`audit entry ${first.row.id} was altered`] : [];
}

/** The remaining rows of each table. */
export function rowsAtEnd<R extends { readonly id: string }>(changes: readonly RowChange[], table: string): R[] {
  const histories = Map.groupBy(changesOf<R>(changes, table), ({ row }) => row.id);
  return [...histories.values()].flatMap((history) => {
    const { kind, row } = history.at(-1) as Change<R>;
    return kind === 'DELETE' ? [] : [row];
  });
}

/** Every break of a rule that rows of clusters and operations obey at any time. */
export const findBrokenRules = (changes: readonly RowChange[]): string[] => [
  ...findBrokenOperations(changes),
  ...findRivalOperations(changes),
  ...findUnfoundedEnds(changes),
  ...findBrokenClusters(changes),
  ...findAuditGaps(changes),
];
