import type { DnsCaller } from '@corral/auth';
import type { ActionRecord, PropagatingWrite } from '@corral/dns-data';
import { sliceMembers } from '@corral/hcloud';
import type { NameServer } from '../name-servers.js';
import type { FollowUntil, Services } from '../services.js';
import { expectationOf, isServed, propagatingBody } from './propagation.js';

/** How often name servers are asked for what one client waits for. */
const ASK_MS = 1_000;

/** The name servers that miss a write, by action. What is not in it was not asked for. */
export type Missing = Map<number, readonly NameServer[]>;

/**
 * Whether the action must go on for clients, because name servers may not have its write. Only in the zone of the teams: nobody knows
 * where that of the demos is served.
 */
export function isPropagating({ config, propagation }: Services, action: ActionRecord, now: number): boolean {
  const { status, propagatedAt, isOfDemo, startedAt } = action;
  if (propagation === null || isOfDemo || status !== 'success' || propagatedAt !== null) return false;
  return now - startedAt.getTime() < config.propagationMsMax;
}

/**
 * Asks the name servers for writes until the condition is met or the signal aborts. A write that all of them have, or that has
 * waited for too long, is over for good.
 *
 * @param ownerId of all of the writes
 * @param missing is kept up to date
 */
export async function followNameServers(
  services: Services,
  { ids, ownerId }: { readonly ids: readonly number[]; readonly ownerId: string },
  until: FollowUntil,
  { signal, missing }: { readonly signal: AbortSignal; readonly missing: Missing },
): Promise<void> {
  const { propagation, pause } = services;
  if (propagation === null) return;
  while (!signal.aborted) {
    const writes = await propagation.store.findPropagating(ids);
    await Promise.all(writes.map(async (write) => missing.set(write.id, await askFor(services, ownerId, write))));
    const over = writes.filter(({ id, startedAt }) => isServedByAll(missing, id) || isLate(services, startedAt));
    await endAll(services, over, missing);
    if (until === 'reported' || over.length > 0 || writes.length < ids.length) return;
    await pause(ASK_MS);
  }
}

const isServedByAll = (missing: Missing, id: number): boolean => missing.get(id)?.length === 0;

const isLate = ({ config }: Services, startedAt: Date): boolean =>
  Date.now() - startedAt.getTime() >= config.propagationMsMax;

/** @returns the name servers that miss the write */
async function askFor(
  { propagation, config: { zoneName } }: Services,
  ownerId: string,
  write: PropagatingWrite,
): Promise<readonly NameServer[]> {
  if (propagation === null) return [];
  const expected = expectationOf(write, zoneName);
  const answers = await propagation.servers.ask(ownerId, `${write.name}.${zoneName}`, write.type);
  return propagation.servers.list.filter((_server, at) => !isServed(expected, answers[at] ?? null));
}

async function endAll(
  { propagation, log }: Services,
  over: readonly PropagatingWrite[],
  missing: Missing,
): Promise<void> {
  if (propagation === null || over.length === 0) return;
  const ended = await propagation.store.endPropagation(over.map(({ id }) => id));
  for (const { id, name, type } of over) {
    const without = missing.get(id) ?? [];
    if (without.length === 0 || !ended.includes(id)) continue;
    log.warn('name servers do not answer an accepted write', { action: id, name, type, missing: without.map(textOf) });
  }
}

const textOf = ({ host, port }: NameServer): string => `${host} port ${port}`;

/** The action as clients see it. */
export function shownAction(
  services: Services,
  action: ActionRecord,
  now: number,
  missing: Missing = new Map(),
): ActionRecord {
  if (!isPropagating(services, action, now)) return action;
  const of = services.propagation?.servers.list.length ?? 0;
  const n = of - (missing.get(action.id)?.length ?? of);
  return { ...action, status: 'running', body: propagatingBody(action.body, { n, of }) };
}

/** The answer to a write as clients see it: its action runs until somebody has asked the name servers. */
export function shownAnswer({ propagation }: Services, caller: DnsCaller, body: string): string {
  if (propagation === null || caller.kind !== 'team') return body;
  const [action = null] = sliceMembers(body, ['action']);
  if (action === null || JSON.parse(action).status !== 'success') return body;
  const { length: of } = propagation.servers.list;
  return body.replace(action, () => propagatingBody(action, { n: 0, of }));
}
