import type { TeamEvent } from '@corral/client';
import type { QueryClient, QueryKey } from '@tanstack/react-query';
import { meQuery, teamKey } from './queries.js';

/** The resource goes into the cache as it is. */
export type LiveEvent = Omit<TeamEvent, 'at' | 'resource'> & { readonly resource: unknown };

interface Target {
  /** Query of the list that contains the resource. */
  readonly list: QueryKey;
  /** Whether an item of the list is the resource of the event. */
  readonly is: (item: never) => boolean;
  /** Query of the resource itself. */
  readonly detail?: QueryKey;
}

/** Writes a change into what is shown; a list that is not loaded stays so. */
export function applyLiveEvent(cache: QueryClient, team: string, event: LiveEvent): void {
  const key = teamKey(team);
  if (event.kind === 'Operation') {
    applyOperation(cache, team, event);
    return;
  }
  const target = targetOf(team, event);
  if (target === null) {
    // A kind that this version does not know.
    void cache.invalidateQueries({ queryKey: key });
    return;
  }
  if (event.kind === 'RecordSet') {
    for (const read of ['dns-usage', 'dangling-record-sets', 'record-set-changes'])
      void cache.invalidateQueries({ queryKey: [...key, read] });
  }
  if (event.kind === 'Member') {
    // Possibly our own role, and the end of an invitation.
    void cache.invalidateQueries({ queryKey: meQuery().queryKey });
    void cache.invalidateQueries({ queryKey: [...key, 'invitations'] });
  }
  putIntoList(cache, target.list, target.is as (item: unknown) => boolean, event);
  if (target.detail !== undefined) {
    if (event.resource !== null && event.change === 'changed') {
      cache.setQueryData(target.detail, event.resource);
      repeatLoad(cache, target.detail);
    } else if (cache.getQueryData(target.detail) !== undefined) {
      // Data of before a failed load stays on the page, but a deleted resource must not.
      if (event.change === 'deleted') void cache.resetQueries({ queryKey: target.detail, exact: true });
      else void cache.invalidateQueries({ queryKey: target.detail });
    }
  }
}

function targetOf(team: string, { kind, name, targetId, parent, resource }: LiveEvent): Target | null {
  const key = teamKey(team);
  const hasId = ({ metadata }: { metadata: { id: string } }) => metadata.id === targetId;
  switch (kind) {
    case 'Cluster':
      return { list: [...key, 'clusters'], is: hasId, detail: [...key, 'cluster', name] };
    case 'NodePool':
      // Pools are shown as part of their cluster, which has an event of its own.
      return { list: [...key, 'node-pools', parent], is: (pool: { name: string }) => pool.name === name };
    case 'Connection':
      return { list: [...key, 'connections'], is: hasId, detail: [...key, 'connection', name] };
    case 'AdoptedServer':
      return { list: [...key, 'servers', parent ?? refOf(resource)], is: hasId };
    case 'RecordSet':
      return { list: [...key, 'rrsets'], is: ({ id }: { id: string }) => id === targetId };
    case 'DnsToken':
      return { list: [...key, 'dns-tokens'], is: ({ id }: { id: string }) => id === targetId };
    case 'Member':
      return { list: [...key, 'members'], is: ({ id }: { id: number }) => String(id) === targetId };
    default:
      return null;
  }
}

const refOf = (resource: unknown): string | null =>
  (resource as { metadata?: { connectionRef?: string } } | null)?.metadata?.connectionRef ?? null;

/** An operation stands in the lists of all operations and of its target, newest first. */
function applyOperation(cache: QueryClient, team: string, event: LiveEvent): void {
  const key = teamKey(team);
  if (event.resource === null) return;
  const { id, target } = event.resource as { id: string; target: { name: string; id: string } };
  cache.setQueryData([...key, 'operation', id], event.resource);
  repeatLoad(cache, [...key, 'operation', id]);
  for (const filter of [null, target.name, target.id]) {
    putIntoList(cache, [...key, 'operations', filter], (item) => (item as { id: string }).id === id, event, 'first');
  }
}

function putIntoList(
  cache: QueryClient,
  list: QueryKey,
  is: (item: unknown) => boolean,
  { change, resource }: LiveEvent,
  added: 'first' | 'last' = 'last',
): void {
  const items = cache.getQueryData<readonly unknown[]>(list);
  if (items !== undefined) {
    const index = items.findIndex(is);
    if (change === 'deleted') {
      if (index >= 0) cache.setQueryData(list, items.toSpliced(index, 1));
    } else if (resource === null) {
      // This repeats a load that is under way.
      void cache.invalidateQueries({ queryKey: list });
      return;
    } else if (index >= 0) cache.setQueryData(list, items.with(index, resource));
    else cache.setQueryData(list, added === 'first' ? [resource, ...items] : [...items, resource]);
  }
  repeatLoad(cache, list);
}

/** A load that is under way may have read the state before the change, and would overwrite it. */
function repeatLoad(cache: QueryClient, queryKey: QueryKey): void {
  const query = cache.getQueryCache().find({ queryKey, exact: true });
  if (query === undefined || query.state.fetchStatus === 'idle') return;
  const repeat = () => cache.invalidateQueries({ queryKey, exact: true });
  // An invalidation repeats a load, but not the first one.
  if (query.state.data === undefined && query.promise !== undefined) void query.promise.then(repeat, repeat);
  else void repeat();
}
