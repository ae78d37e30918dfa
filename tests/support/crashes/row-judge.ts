import { isOpenOperation, type OperationState } from '@corral/contracts';
import { judgedTables, type RowChange } from '../clusters/row-history.js';

/*
 * The rules that every row must obey at every moment, written independently of the code that they check. Each function
 * returns a description of every violation, and an empty list if there is none.
 */

interface OperationRow {
  readonly id: string;
  readonly kind: string;
  readonly target_id: string;
  readonly generation: number;
  readonly state: OperationState;
  readonly progress: number;
  readonly error: object;
}

interface ClusterRow {
  readonly id: string;
  readonly generation: number;
  readonly observed_generation: number;
  readonly started_at: string | null;
}

interface ServerRow {
  readonly id: string;
  readonly phase: string;
  readonly generation: number;
  readonly rebuild_action_id: number | null;
}

type Change<R> = Omit<RowChange, 'row'> & { readonly row: R };

type Table = (typeof judgedTables)[number];

interface Columns {
  /** They never change. */
  readonly fixed: readonly string[];
  /** What has a value keeps it. */
  readonly once: readonly string[];
  readonly growing: readonly string[];
  /** Whether rows may be deleted. */
  readonly mayGo: boolean;
}

const columns: Readonly<Record<Table, Columns>> = {
  cluster: {
    fixed: ['name', 'shoot_name'],
    once: ['shoot_uid', 'started_at'],
    growing: ['generation', 'observed_generation', 'lease_fence'],
    mayGo: true,
  },
  adopted_server: {
    fixed: ['server_id', 'claim_token'],
    once: [],
    growing: ['generation', 'lease_fence'],
    mayGo: true,
  },
  operation: {
    fixed: ['kind', 'target_id', 'target_name', 'generation', 'desired_hash'],
    once: [],
    growing: ['progress'],
    mayGo: false,
  },
  // The outcome of a request may be added later. Who asked for what never changes.
  audit_entry: { fixed: ['action', 'target_id', 'user_id'], once: [], growing: [], mayGo: false },
};

/** Every break of a rule that rows of clusters, servers, operations and the audit log obey at any time. */
export const findBrokenRules = (changes: readonly RowChange[]): string[] => [
  ...judgedTables.flatMap((table) => findBrokenColumns(changes, table)),
  ...findBrokenStates(changes),
  ...findRivalOperations(changes),
  ...findUnfoundedEnds(changes),
  ...findImpossibleGenerations(changes),
  ...findSharedRebuilds(changes),
  ...findAuditGaps(changes),
];

const changesOf = <R>(changes: readonly RowChange[], table: Table): Change<R>[] =>
  changes.filter((change) => change.table === table);

/** The changes of each row of a table. */
const historiesOf = <R extends { readonly id: unknown }>(
  changes: readonly RowChange[],
  table: Table,
): Change<R>[][] => [...Map.groupBy(changesOf<R>(changes, table), ({ row }) => String(row.id)).values()];

/** Returns each item with the next one. */
const pairs = <T>(items: readonly T[]): [T, T][] => items.slice(1).map((item, index) => [items[index] as T, item]);

const operationsOf = (changes: readonly RowChange[]) => historiesOf<OperationRow>(changes, 'operation');

function findBrokenColumns(changes: readonly RowChange[], table: Table): string[] {
  const { fixed, once, growing, mayGo } = columns[table];
  return historiesOf<RowChange['row']>(changes, table).flatMap((history) => [
    ...history.filter(({ kind }) => kind === 'DELETE' && !mayGo).map(({ row }) => `${table} ${row.id} was removed`),
    ...pairs(history).flatMap(([{ row: before }, { row: after }]) => [
      ...[...fixed, ...once.filter((column) => before[column] !== null)]
        .filter((column) => after[column] !== before[column])
        .map((column) => `${column} of ${table} ${before.id} was ${before[column]} and became ${after[column]}`),
      ...growing
        .filter((column) => after[column] < before[column])
        .map((column) => `${column} of ${table} ${before.id} fell from ${before[column]} to ${after[column]}`),
    ]),
  ]);
}

/** Every operation ends, keeps its final state unless it succeeds after a failure, and never goes back before that. */
function findBrokenStates(changes: readonly RowChange[]): string[] {
  return operationsOf(changes).flatMap((history) => {
    const last = (history.at(-1) as Change<OperationRow>).row;
    return [
      ...pairs(history).flatMap(([{ row: before }, { row: after }]) => brokenStep(before, after)),
      ...history.flatMap(({ row }) => brokenState(row)),
      ...(isOpenOperation(last) ? [`operation ${last.id} never ended`] : []),
    ];
  });
}

function brokenStep(before: OperationRow, after: OperationRow): string[] {
  const isFinal = !isOpenOperation(before) && !(before.state === 'failed' && after.state === 'succeeded');
  return [
    ...(isFinal && after.state !== before.state
      ? [`operation ${before.id} had ended ${before.state} and became ${after.state}`]
      : []),
    ...(isFinal && JSON.stringify(after.error) !== JSON.stringify(before.error)
      ? [`operation ${before.id} had ended and got another error`]
      : []),
    ...(before.state === 'running' && after.state === 'queued' ? [`operation ${before.id} went back to queued`] : []),
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

/** Whether there is a reason for a final state of an operation. Without a rule for the state, none is needed. */
type Reasons = Partial<Record<OperationState, boolean>>;

/** Every final state of an operation on a cluster or a server has its reason in the same transaction. */
function findUnfoundedEnds(changes: readonly RowChange[]): string[] {
  const clusters = Map.groupBy(changesOf<ClusterRow>(changes, 'cluster'), ({ row }) => row.id);
  const servers = Map.groupBy(changesOf<ServerRow>(changes, 'adopted_server'), ({ row }) => row.id);
  const insertions = changesOf<OperationRow>(changes, 'operation').filter(({ kind }) => kind === 'INSERT');
  return operationsOf(changes).flatMap((history) => {
    const end = history.find(({ row }) => !isOpenOperation(row));
    if (end === undefined) return [];
    const { id, kind, state, target_id: target } = end.row;
    const isSameMoment = ({ transaction }: Change<unknown>): boolean => transaction === end.transaction;
    const next = insertions.find(
      (other) => isSameMoment(other) && other.row.target_id === target && other.row.id !== id,
    );
    const reasons: Reasons = kind.startsWith('cluster.')
      ? reasonsOnCluster(end, clusters.get(target) ?? [], next?.row)
      : kind.startsWith('server.')
        ? reasonsOnServer(end.row, servers.get(target)?.find(isSameMoment), next?.row)
        : {};
    return reasons[state] === false ? [`operation ${id} (${kind}) is ${state} without a reason`] : [];
  });
}

/** Converged, superseded by a later one, or never started and deleted. */
function reasonsOnCluster(
  { seq, transaction, row }: Change<OperationRow>,
  cluster: readonly Change<ClusterRow>[],
  next: OperationRow | undefined,
): Reasons {
  const isGone = cluster.some((change) => change.kind === 'DELETE' && change.transaction === transaction);
  // The row as it was at the end of the transaction.
  const state = cluster.findLast((change) => change.seq < seq || change.transaction === transaction)?.row;
  const isConverged = state !== undefined && (state.observed_generation >= row.generation || state.started_at === null);
  return {
    succeeded: row.kind === 'cluster.delete' ? isGone : isConverged,
    superseded: next !== undefined && next.generation > row.generation,
    cancelled: isGone,
  };
}

/** Rebuilt, detached, or interrupted by the detachment. */
function reasonsOnServer(
  { kind }: OperationRow,
  server: Change<ServerRow> | undefined,
  next: OperationRow | undefined,
): Reasons {
  const isReady = server?.row.phase === 'Ready' && server.row.rebuild_action_id !== null;
  return {
    succeeded: kind === 'server.deregister' ? server?.kind === 'DELETE' : isReady,
    superseded: kind === 'server.adopt' && next !== undefined,
    cancelled: false,
    failed: false,
  };
}

/** No cluster is observed ahead of its generation, and a generation of a server has one rebuild. */
const findImpossibleGenerations = (changes: readonly RowChange[]): string[] => [
  ...changesOf<ClusterRow>(changes, 'cluster')
    .filter(({ row }) => row.observed_generation > row.generation)
    .map(({ row }) => `cluster ${row.id} was observed at ${row.observed_generation} of ${row.generation} generations`),
  ...historiesOf<ServerRow>(changes, 'adopted_server')
    .flatMap(pairs)
    .filter(([{ row: before }, { row: after }]) => {
      const isOther = before.rebuild_action_id !== null && before.rebuild_action_id !== after.rebuild_action_id;
      return isOther && before.generation === after.generation;
    })
    .map(([{ row }]) => `adopted_server ${row.id} took up another rebuild in its generation ${row.generation}`),
];

/** One rebuild never counts for two acknowledgements, even if the server was detached in between. */
function findSharedRebuilds(changes: readonly RowChange[]): string[] {
  const taken = changesOf<ServerRow>(changes, 'adopted_server').filter(({ row }) => row.rebuild_action_id !== null);
  return [...Map.groupBy(taken, ({ row }) => String(row.rebuild_action_id))].flatMap(([action, same]) => {
    const intents = new Set(same.map(({ row }) => `${row.id} ${row.generation}`));
    return intents.size > 1 ? [`rebuild ${action} counts for ${intents.size} acknowledgements`] : [];
  });
}

/** Each accepted change is in the audit log, written by the same transaction. */
function findAuditGaps(changes: readonly RowChange[]): string[] {
  const entries = Map.groupBy(changesOf(changes, 'audit_entry'), ({ transaction }) => transaction);
  return [
    ...changesOf<OperationRow>(changes, 'operation')
      .filter(({ kind, transaction }) => kind === 'INSERT' && entries.get(transaction)?.length !== 1)
      .map(({ row }) => `operation ${row.id} (${row.kind}) was accepted without its own audit entry`),
    ...changesOf<ClusterRow>(changes, 'cluster')
      .filter(({ kind, transaction }) => kind === 'DELETE' && !entries.has(transaction))
      .map(({ row }) => `cluster ${row.id} was removed without an audit entry`),
  ];
}
