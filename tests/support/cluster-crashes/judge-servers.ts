import { isDeepStrictEqual } from 'node:util';
import { type AdoptedServerSpec, isOpenOperation } from '@corral/contracts';
import type { RowChange } from '../clusters/row-history.js';
import { groupBy, pairs } from '../crashes/group-by.js';
import { changesOf, type OperationRow, rowsAtEnd } from './judge-rows.js';
import type { ServerBelief } from './server-belief.js';

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

/** What the only client that adopts a server knows about it. */
export interface KnownServer {
  readonly spec: AdoptedServerSpec;
  /** The labels that others put on it. */
  readonly labels: Readonly<Record<string, string>>;
  readonly belief: ServerBelief;
  /** Each accepted acknowledgement, by its operation. */
  readonly adopted: readonly string[];
  /** The operations, including those of deregistrations. */
  readonly accepted: readonly string[];
}

export interface ServerRow {
  readonly id: string;
  readonly server_id: number;
  readonly phase: string;
  readonly generation: number;
  readonly lease_fence: number;
  readonly claim_token: string;
  readonly rebuild_action_id: number | null;
}

const CLAIM = 'corral.dev/claim';

/** Every problem with adopted servers once all work has settled: clients, rows and provider must agree. */
export function findServerContradictions(
  changes: readonly RowChange[],
  { known, held }: { readonly known: readonly KnownServer[]; readonly held: readonly HeldServer[] },
): string[] {
  const rows = new Map(rowsAtEnd<ServerRow>(changes, 'adopted_server').map((row) => [row.server_id, row]));
  const operations = groupBy(rowsAtEnd<OperationRow>(changes, 'operation'), ({ target_name }) => target_name);
  const byId = new Map(held.map((server) => [server.id, server]));
  return [
    ...findBrokenServers(changes),
    ...findSharedRebuilds(changes),
    ...findUnfoundedServerEnds(changes),
    ...known.flatMap((server) => {
      const id = server.spec.serverID;
      const own = { row: rows.get(id), held: byId.get(id), operations: operations.get(String(id)) ?? [] };
      return differencesOf(server, own).map((difference) => `server ${id} ${difference}`);
    }),
  ];
}

interface OwnTraces {
  readonly row: ServerRow | undefined;
  readonly held: HeldServer | undefined;
  readonly operations: readonly OperationRow[];
}

function differencesOf({ belief, labels, adopted }: KnownServer, { row, held, operations }: OwnTraces): string[] {
  if (held === undefined) return ['is lost at the provider'];
  const adoptions = operations.filter(({ kind }) => kind === 'server.adopt');
  const succeeded = adoptions.filter(({ state }) => state === 'succeeded');
  const wanted = row === undefined ? labels : { ...labels, [CLAIM]: row.claim_token };
  const isAdopted = belief.kind === 'adopted';
  return [
    ...(held.deletedBy === null ? [] : [`was deleted by ${held.deletedBy}`]),
    ...(held.powerOffs === 0 ? [] : [`was powered off ${held.powerOffs} times`]),
    ...(isDeepStrictEqual(new Set(adopted), new Set(adoptions.map(({ id }) => id)))
      ? []
      : [`has ${adoptions.length} adoptions, but ${adopted.length} acknowledgements were accepted`]),
    ...(held.rebuilds <= adoptions.length
      ? []
      : [`was rebuilt ${held.rebuilds} times for ${adoptions.length} acknowledgements`]),
    ...(held.rebuilds >= succeeded.length
      ? []
      : [`was rebuilt ${held.rebuilds} times for ${succeeded.length} adoptions that succeeded`]),
    ...(isDeepStrictEqual(held.labels, wanted)
      ? []
      : [`has the labels ${JSON.stringify(held.labels)}, not ${JSON.stringify(wanted)}`]),
    ...(isAdopted === (row !== undefined)
      ? []
      : [`is believed ${belief.kind}, and is ${row === undefined ? 'not there' : row.phase}`]),
    ...(row === undefined || row.phase === 'Ready' ? [] : [`ended ${row.phase}`]),
  ];
}

/** Generations and fences only grow, the fields that identify a server never change, and a generation has one rebuild. */
export function findBrokenServers(changes: readonly RowChange[]): string[] {
  const histories = groupBy(changesOf<ServerRow>(changes, 'adopted_server'), ({ row }) => row.id);
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
export function findSharedRebuilds(changes: readonly RowChange[]): string[] {
  const taken = changesOf<ServerRow>(changes, 'adopted_server').filter(({ row }) => row.rebuild_action_id !== null);
  return [...groupBy(taken, ({ row }) => String(row.rebuild_action_id))].flatMap(([action, same]) => {
    const intents = new Set(same.map(({ row }) => `${row.id} ${row.generation}`));
    return intents.size > 1 ? [`rebuild ${action} counts for ${intents.size} acknowledgements`] : [];
  });
}

/** Every final state has its reason in the same transaction: rebuilt, detached, or interrupted by the detachment. */
function findUnfoundedServerEnds(changes: readonly RowChange[]): string[] {
  const servers = groupBy(changesOf<ServerRow>(changes, 'adopted_server'), ({ row }) => row.id);
  const operations = changesOf<OperationRow>(changes, 'operation').filter(({ row }) => row.kind.startsWith('server.'));
  return [...groupBy(operations, ({ row }) => row.id).values()].flatMap((history) => {
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
