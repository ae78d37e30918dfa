import { isOpenOperation } from '@corral/contracts';
import type { RowChange } from '../clusters/row-history.js';
import { changesOf, type OperationRow, pairs } from './judge-rows.js';

/** A server as the admin address of the local cloud describes it. */
export interface HeldServer {
  readonly id: number;
  readonly name: string;
  readonly serverType: string;
  readonly location: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly rebuilds: number;
  readonly powerOffs: number;
  readonly deletedBy: string | null;
}

interface ServerRow {
  readonly id: string;
  readonly server_id: number;
  readonly phase: string;
  readonly generation: number;
  readonly lease_fence: number;
  readonly claim_token: string;
  readonly rebuild_action_id: number | null;
}

/** Every break of a rule that rows of adopted servers and their operations obey at any time. */
export const findServerContradictions = (changes: readonly RowChange[]): string[] => [
  ...findBrokenServers(changes),
  ...findSharedRebuilds(changes),
  ...findUnfoundedServerEnds(changes),
];

/** Generations and fences only grow, the fields that identify a server never change, and a generation has one rebuild. */
function findBrokenServers(changes: readonly RowChange[]): string[] {
  const histories = Map.groupBy(changesOf<ServerRow>(changes, 'adopted_server'), ({ row }) => row.id);
  return [...histories.values()].flatMap((history) =>
    pairs(history).flatMap(([{ row: before }, { row: after }]) => {
      const server = `server ${before.server_id}`;
      const isOther = before.rebuild_action_id !== null && before.rebuild_action_id !== after.rebuild_action_id;
      return [
        ...(['generation', 'lease_fence'] as const)
          .filter((field) => after[field] < before[field])
          .map((field) => `${field} of ${server} fell from ${before[field]} to ${after[field]}`),
        ...(['server_id', 'claim_token'] as const)
          .filter((field) => after[field] !== before[field])
          .map((field) => `${field} of ${server} changed`),
        ...(isOther && before.generation === after.generation
          ? [`${server} took up another rebuild in its generation ${before.generation}`]
          : []),
      ];
    }),
  );
}

/** One rebuild never counts for two acknowledgements, even if the server was detached in between. */
function findSharedRebuilds(changes: readonly RowChange[]): string[] {
  const taken = changesOf<ServerRow>(changes, 'adopted_server').filter(({ row }) => row.rebuild_action_id !== null);
  return [...Map.groupBy(taken, ({ row }) => String(row.rebuild_action_id))].flatMap(([action, same]) => {
    const intents = new Set(same.map(({ row }) => `${row.id} ${row.generation}`));
    return intents.size > 1 ? [`rebuild ${action} counts for ${intents.size} acknowledgements`] : [];
  });
}

/** Every final state has its reason in the same transaction: rebuilt, detached, or interrupted by the detachment. */
function findUnfoundedServerEnds(changes: readonly RowChange[]): string[] {
  const servers = Map.groupBy(changesOf<ServerRow>(changes, 'adopted_server'), ({ row }) => row.id);
  const operations = changesOf<OperationRow>(changes, 'operation').filter(({ row }) => row.kind.startsWith('server.'));
  return [...Map.groupBy(operations, ({ row }) => row.id).values()].flatMap((history) => {
    const end = history.find(({ row }) => !isOpenOperation(row));
    if (end === undefined) return [];
    const { row, transaction } = end;
    const server = servers.get(row.target_id)?.find((change) => change.transaction === transaction);
    const isReady = server?.row.phase === 'Ready' && server.row.rebuild_action_id !== null;
    const isDetaching = operations.some(
      (other) => other.transaction === transaction && other.kind === 'INSERT' && other.row.target_id === row.target_id,
    );
    const reasons: Partial<Record<string, boolean>> = {
      succeeded: row.kind === 'server.deregister' ? server?.kind === 'DELETE' : isReady,
      superseded: row.kind === 'server.adopt' && isDetaching,
    };
    return reasons[row.state] === true ? [] : [`operation ${row.id} (${row.kind}) is ${row.state} without a reason`];
  });
}
