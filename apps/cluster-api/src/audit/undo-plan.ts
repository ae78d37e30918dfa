import { costDifferenceOf, costOf } from '@corral/cluster-data';
import {
  type AuditEntryBody,
  type ClusterAnswerBody,
  type ClusterSpec,
  clusterLimits,
  type UndoState,
} from '@corral/contracts';
import {
  type ChangeOfEntry,
  callsOf,
  changeOfEntry,
  contentOfBody,
  isSame,
  type SetContent,
  undoSet,
  undoSpec,
} from '@corral/domain';
import type { Caller } from '../changes/caller.js';
import { digestOf, entityTagOf } from '../changes/entity-tag.js';
import { changeSpec } from '../clusters/change-spec.js';
import { type ClusterRecord, findClusters } from '../clusters/store.js';
import { pointersInCluster } from '../node-pools/rules.js';
import { asProblem, invalidField } from '../problem.js';
import type { Services } from '../services.js';
import { apiAudit } from './api-store.js';
import { dnsAudit } from './dns-store.js';
import { type AuditFilters, auditLog, noFilters } from './log.js';
import { auditBody } from './view.js';

export type UndoPlan = ClusterAnswerBody<'undoPlan'>;
export type UndoItem = UndoPlan['items'][number];

type SetChange = Extract<ChangeOfEntry, { kind: 'recordSet' }>;
type SpecChange = Extract<ChangeOfEntry, { kind: 'cluster' }>;

/** Entries about one thing, newest first. */
interface Group {
  readonly of: Pick<UndoItem, 'kind' | 'name' | 'type'>;
  readonly entries: AuditEntryBody[];
  readonly changes: ChangeOfEntry[];
}

/** How a cluster of the plan is taken back. */
export interface ClusterUndo {
  readonly cluster: ClusterRecord;
  readonly to: ClusterSpec;
  readonly entries: readonly string[];
}

interface Planned {
  readonly item: UndoItem;
  readonly cluster?: ClusterUndo;
}

export interface FullPlan {
  readonly tag: string;
  readonly items: readonly UndoItem[];
  /** Clusters by the place of their item. */
  readonly clusters: ReadonlyMap<number, ClusterUndo>;
}

/** Later entries about a thing that a plan shows. */
const LATER_MAX = 20;
/** Entries of the log that one request reads, those included that do not fit. A log may have millions. */
const READ_MAX = 20_000;

/**
 * The entries that fit, newest first.
 *
 * @param isWanted which of them
 * @throws Problem `validation_failed` if they are too many
 */
export async function entriesToUndo(
  { prisma }: Services,
  { team }: Caller,
  filters: Partial<AuditFilters>,
  isWanted: (entry: AuditEntryBody) => boolean,
): Promise<AuditEntryBody[]> {
  const entries: AuditEntryBody[] = [];
  let read = 0;
  for await (const records of logOf(prisma).readAll(team.id, { ...noFilters, ...filters })) {
    entries.push(...records.map(auditBody).filter(isWanted));
    read += records.length;
    const isOver = entries.length > clusterLimits.undoEntries;
    if (!isOver && read <= READ_MAX) continue;
    const many = isOver ? `fits more than ${clusterLimits.undoEntries}` : `spans more than ${READ_MAX}`;
    const wrong = `${many} entries: name a shorter time, an actor or a name`;
    throw invalidField('validation_failed', '', wrong);
  }
  return entries;
}

const logOf = (prisma: Services['prisma']) => auditLog({ api: apiAudit(prisma), dns: dnsAudit(prisma) });

/** Plans how to take back entries of the audit log. @param entries newest first */
export async function planUndo(
  services: Services,
  caller: Caller,
  entries: readonly AuditEntryBody[],
): Promise<FullPlan> {
  const groups = groupsOf(entries);
  const context = { ...(await presentThings(services, caller, groups)), services, caller };
  const inAnyOrder: Planned[] = [];
  for (const group of groups) inAnyOrder.push(await planOf(group, context));
  const planned = inAnyOrder.toSorted((one, other) => wave(one.item, inAnyOrder) - wave(other.item, inAnyOrder));
  const items = planned.map(({ item }) => item);
  const shown = items.map(({ kind, name, type, now, to, overwrites }) => [kind, name, type, now, to, overwrites]);
  return {
    items,
    tag: digestOf(shown),
    clusters: new Map(planned.flatMap(({ cluster }, at) => (cluster === undefined ? [] : [[at, cluster]]))),
  };
}

/** Removals come last, unless another set waits for the name: a CNAME stands alone. */
function wave({ name, type, now, to }: UndoItem, planned: readonly Planned[]): number {
  if (type === null || now === null || to !== null) return 1;
  return planned.some(({ item }) => item.name === name && item.now === null && item.to !== null) ? 0 : 2;
}

function groupsOf(entries: readonly AuditEntryBody[]): Group[] {
  const groups = new Map<string, Group>();
  for (const entry of entries) {
    const { dns, target, kind } = entry;
    const isCluster = kind === 'cluster' || kind === 'node-pool';
    const key = `${dns !== null ? 'dns' : isCluster ? 'cluster' : kind} ${target.id}`;
    const of = {
      kind: dns !== null ? ('recordSet' as const) : isCluster ? ('cluster' as const) : ('other' as const),
      name: dns?.name ?? target.name,
      type: dns?.type ?? null,
    };
    const group = groups.get(key) ?? { of, entries: [], changes: [] };
    group.entries.push(entry);
    group.changes.push(changeOfEntry(entry));
    groups.set(key, group);
  }
  return [...groups.values()];
}

interface Present {
  /** The names of the zones of demos. */
  readonly demoZones: ReadonlySet<string>;
  /** Record sets by name and type. */
  readonly sets: ReadonlyMap<string, SetContent>;
  /** Clusters by id. */
  readonly clusters: ReadonlyMap<string, ClusterRecord>;
}

interface Context extends Present {
  readonly services: Services;
  readonly caller: Caller;
}

async function presentThings({ prisma }: Services, { team }: Caller, groups: readonly Group[]): Promise<Present> {
  const keys = groups.flatMap(({ of: { name, type } }) => (type === null ? [] : [{ name, type }]));
  const ids = groups.flatMap(({ of, entries }) => (of.kind === 'cluster' ? [entries[0]?.target.id as string] : []));
  const rows = await prisma.dnsRrset.findMany({
    where: { ownerLabel: team.slug, zone: { ofDemos: false }, OR: keys },
    select: { name: true, type: true, body: true },
  });
  const clusters = ids.length === 0 ? [] : await findClusters(prisma, team.id, ids);
  const demoZones = await prisma.dnsZone.findMany({ where: { ofDemos: true }, select: { name: true } });
  return {
    demoZones: new Set(demoZones.map(({ name }) => name)),
    sets: new Map(
      rows.map(({ name, type, body }) => [`${name} ${type}`, contentOfBody(JSON.parse(body)) as SetContent]),
    ),
    clusters: new Map(clusters.map((cluster) => [cluster.id as string, cluster])),
  };
}

async function planOf(group: Group, context: Context): Promise<Planned> {
  const impossible = group.changes.find((change) => change.kind === 'impossible');
  if (impossible?.kind === 'impossible') return { item: itemOf(group, 'impossible', { reason: impossible.reason }) };
  if (group.changes.some(({ kind }) => kind === 'nothing')) return { item: itemOf(group, 'same') };
  return group.of.kind === 'recordSet' ? { item: await planSet(group, context) } : planCluster(group, context);
}

function itemOf({ of, entries }: Group, state: UndoState, more: Partial<UndoItem> = {}): UndoItem {
  return {
    ...of,
    entries: entries.map(({ id }) => id),
    state,
    reason: null,
    now: null,
    before: null,
    to: null,
    changedSince: [],
    overwrites: [],
    calls: [],
    changes: [],
    effects: [],
    costDifference: null,
    operation: null,
    ...more,
  };
}

const OF_DEMO =
  'It is of a demo, which only the token of the demo changes. Set it again in the demo, or make another demo.';

const shownSet = (content: SetContent | null): UndoItem['now'] => content && { ...content };

async function planSet(group: Group, context: Context): Promise<UndoItem> {
  const { name, type } = group.of as { name: string; type: string };
  const zone = group.entries[0]?.dns?.zone as string;
  if (context.demoZones.has(zone)) return itemOf(group, 'impossible', { reason: OF_DEMO });
  const changes = group.changes as SetChange[];
  const now = context.sets.get(`${name} ${type}`) ?? null;
  const { to, overwrites } = undoSet(now, changes);
  const { config } = context.services;
  const [newest, oldest] = [changes[0], changes.at(-1)] as [SetChange, SetChange];
  const isUntouched = overwrites.length === 0 && isSame(now, newest.after);
  return itemOf(group, isSame(now, to) ? 'same' : 'planned', {
    now: shownSet(now),
    before: shownSet(oldest.before),
    to: shownSet(to),
    overwrites: [...overwrites],
    changedSince: isUntouched ? [] : laterOf(group, await entriesSince(group, context, { kind: 'dns', name, type })),
    calls: callsOf({ zone, name, type }, now, to).map(({ method, path, body }) => ({
      method,
      url: `${config.dnsApi?.endpoint ?? ''}${path}`,
      body: body && { ...body },
    })),
  });
}

/** What changed the same thing, from the oldest entry of the group on, newest first; without the oldest if they are too many. */
async function entriesSince(
  { entries }: Group,
  { services, caller }: Context,
  filters: Partial<AuditFilters>,
): Promise<AuditEntryBody[]> {
  const oldest = entries.at(-1) as AuditEntryBody;
  const from = new Date(oldest.createdAt);
  const since: AuditEntryBody[] = [];
  for await (const records of logOf(services.prisma).readAll(caller.team.id, { ...noFilters, ...filters, from })) {
    for (const entry of records.map(auditBody)) {
      if (entry.target.id === oldest.target.id && isChange(entry)) since.push(entry);
      if (entry.id === oldest.id || since.length >= clusterLimits.undoEntries) return since;
    }
  }
  return since;
}

const isChange = (entry: AuditEntryBody): boolean => ['recordSet', 'cluster'].includes(changeOfEntry(entry).kind);

const laterOf = ({ entries }: Group, since: readonly AuditEntryBody[]): UndoItem['changedSince'] => {
  const undone = new Set(entries.map(({ id }) => id));
  return since
    .filter(({ id }) => !undone.has(id))
    .slice(0, LATER_MAX)
    .map(({ id, action, actor: { kind, name }, createdAt }) => ({ id, action, actor: { kind, name }, createdAt }));
};

async function planCluster(group: Group, context: Context): Promise<Planned> {
  const { services, caller } = context;
  const undone = new Set(group.entries.map(({ id }) => id));
  const cluster = context.clusters.get(group.entries[0]?.target.id as string);
  const impossible = (reason: string, more: Partial<UndoItem> = {}) => ({
    item: itemOf(group, 'impossible', { ...more, reason }),
  });
  if (cluster === undefined || cluster.deletionRequestedAt !== null) {
    return impossible('The cluster was deleted. Declare it again, and restore its data from your backup.');
  }
  const since = await entriesSince(group, context, { name: cluster.name });
  const result =
    since.at(-1)?.id === group.entries.at(-1)?.id ? undoSpec(cluster.spec, since.map(historyOf(undone))) : null;
  if (result === null) return impossible('The log does not lead from this change to the present specification.');
  const { before, to, overwrites } = result;
  const shown = {
    now: { ...cluster.spec },
    before: { ...before },
    to: { ...to },
    overwrites: [...overwrites],
    changedSince: laterOf(group, since),
  };
  const undo = { cluster, to, entries: [...undone] };
  const outcome = await changeCluster(services, caller, undo, 'dryRun').catch(refusalOf);
  if (outcome.kind === 'refused') return impossible(outcome.reason, shown);
  if (outcome.kind !== 'dryRun' || outcome.changes.length === 0) return { item: itemOf(group, 'same', shown) };
  const [was, willBe] = [costOf(cluster.spec, cluster.prices), costOf(outcome.cluster.spec, outcome.cluster.prices)];
  const { changes, effects } = outcome;
  const preview = { changes: [...changes], effects: [...effects], costDifference: costDifferenceOf(was, willBe) };
  return { item: itemOf(group, 'planned', { ...shown, ...preview }), cluster: undo };
}

/** A declaration that is refused is a change that cannot be taken back. @throws what a repetition may not meet again */
export function refusalOf(error: unknown): { readonly kind: 'refused'; readonly reason: string } {
  const problem = asProblem(error);
  if (problem.status >= 500 || [412, 429].includes(problem.status)) throw problem;
  return { kind: 'refused', reason: problem.detail };
}

const historyOf = (undone: ReadonlySet<string>) => (entry: AuditEntryBody) => ({
  changes: (changeOfEntry(entry) as SpecChange).changes,
  isUndone: undone.has(entry.id),
});

/** Declares a cluster as planned, by the same way as a `PUT`. @throws Problem `precondition_failed` if it was changed since the plan */
export const changeCluster = (
  services: Services,
  caller: Caller,
  { cluster, to, entries }: ClusterUndo,
  purpose: 'apply' | 'dryRun',
) =>
  changeSpec(services, caller, {
    purpose,
    preconditions: { ifMatch: [entityTagOf(cluster)], ifNoneMatch: null },
    name: cluster.name,
    pointers: pointersInCluster,
    action: 'cluster.declare',
    detail: { undoes: entries.join(' ') },
    needsCatalogue: true,
    desiredOf: () => to,
  });
