import { ownerLabelOf } from '@corral/contracts';
import { lockRows, readClock, type Transaction } from '@corral/database';
import type { Log, Metrics } from '@corral/service';
import { type Comparison, compareRrset, recordCountOf } from '../rrset.js';
import { isWrite } from '../writes/copies.js';
import { leaveNewVersions } from '../writes/owner-entries.js';

/** A record set within its zone. */
export interface SetKey {
  readonly name: string;
  readonly type: string;
}

/** Identifies a set within its zone. */
export const idOf = ({ name, type }: SetKey): string => `${name}/${type}`;

/** Conditions of Prisma: one of these sets. None of them if there are none. */
const keysOf = (sets: readonly SetKey[]): SetKey[] => sets.map(({ name, type }) => ({ name, type }));

interface ContestedQuery {
  readonly zoneId: number;
  readonly sets: readonly SetKey[];
  readonly readAt: Date;
  readonly graceMs: number;
}

/** The ids of the sets for which a read at that time proves nothing, because of a write of ours. */
export async function findContested(
  db: Transaction,
  { zoneId, sets, readAt, graceMs }: ContestedQuery,
): Promise<Set<string>> {
  const writes = await db.dnsAuditEntry.findMany({
    where: {
      zoneId,
      OR: keysOf(sets),
      ...isWrite,
      AND: { OR: [{ state: 'pending' }, { completedAt: { gte: new Date(readAt.getTime() - graceMs) } }] },
    },
    select: {
      name: true,
      type: true,
      state: true,
      operation: true,
      completedAt: true,
      actions: { select: { status: true, checkedAt: true } },
    },
  });
  return new Set(writes.filter((write) => contests(write, readAt)).map(idOf));
}

/** A write of ours that is pending, or ended within the grace period before a read. */
interface RecentWrite {
  readonly state: string;
  readonly operation: string;
  readonly completedAt: Date | null;
  readonly actions: readonly { readonly status: string; readonly checkedAt: Date }[];
}

/**
 * Whether a read proves nothing because of this write. An accepted write becomes visible when its action ends; if we have not seen the
 * end, the grace period applies. An update has no action and is visible immediately.
 */
function contests({ state, operation, completedAt, actions }: RecentWrite, readAt: Date): boolean {
  if (state === 'pending') return true;
  if (completedAt === null || (state !== 'completed' && state !== 'settled')) return false;
  if (completedAt >= readAt) return true;
  const hasEnded = actions.some(({ status, checkedAt }) => status !== 'running' && checkedAt < readAt);
  return state === 'completed' && operation !== 'update' && !hasEnded;
}

/** A record set read from the upstream. */
export interface FoundRrset extends SetKey {
  /** The upstream's body, null when the set is absent there. */
  readonly found: string | null;
}

/** Sets read from the upstream at one time. */
export interface RrsetReadings {
  readonly zoneId: number;
  /** Postgres' clock before the read was sent. */
  readonly readAt: Date;
  readonly sets: readonly FoundRrset[];
}

export interface ObserveOptions {
  /**
   * An accepted write becomes visible upstream only after its action. A read within this time after the write proves
   * nothing.
   */
  readonly graceMs: number;
  /** Whether differences are drift, or sets mirrored for the first time. */
  readonly purpose: 'import' | 'sync';
}

type DriftKind = 'added' | 'changed' | 'removed';

/** `skipped`: our own write is pending or too recent for the read to prove anything. */
export type ObserveResult = Exclude<Comparison, 'drifted'> | DriftKind | 'skipped';

/** The outcome for one set that was read. */
export interface Observation extends SetKey {
  readonly result: ObserveResult;
  /** Slug of the team whose audit log has the entry; null when there is none. */
  readonly team: string | null;
}

interface Owner {
  readonly teamId: string | null;
  readonly demoId: string | null;
  readonly team: string | null;
}

interface Judged extends FoundRrset {
  readonly result: ObserveResult;
  readonly owner: Owner | null;
}

/**
 * Updates the mirror to what was read upstream, except for sets with a pending or recent write of ours. Drift is
 * recorded as an audit entry with the actor `upstream`.
 */
export async function observeRrsets(
  tx: Transaction,
  { zoneId, readAt, sets }: RrsetReadings,
  { graceMs, purpose }: ObserveOptions,
): Promise<Observation[]> {
  if (sets.length === 0) return [];
  // Writes begin under the same lock, so none can begin on these sets before the commit.
  const owners = await lockOwnersAt(tx, zoneId, [...new Set(sets.map(({ name }) => ownerLabelOf(name)))]);
  const contested = await findContested(tx, { zoneId, sets, readAt, graceMs });
  const mirrored = await readMirrored(tx, zoneId, sets);
  const judged = sets.map((set): Judged => {
    const owner = owners.get(ownerLabelOf(set.name)) ?? null;
    const id = idOf(set);
    return { ...set, owner, result: contested.has(id) ? 'skipped' : resultOf(set, mirrored.get(id) ?? null) };
  });
  const now = await readClock(tx);
  await writeMirror(tx, zoneId, judged, now);
  await forgetCeilings(tx, zoneId, judged);
  if (purpose === 'sync') await recordDrift(tx, zoneId, judged, { before: mirrored, now });
  return judged.map(({ name, type, result, owner }) => ({ name, type, result, team: owner?.team ?? null }));
}

function isDrift(result: ObserveResult): result is DriftKind {
  return result === 'added' || result === 'changed' || result === 'removed';
}

function resultOf({ type, found }: FoundRrset, mirrored: string | null): ObserveResult {
  const comparison = compareRrset(type, mirrored, found);
  if (comparison !== 'drifted') return comparison;
  return mirrored === null ? 'added' : found === null ? 'removed' : 'changed';
}

/** An ended demo owns its label until it is released, so records found there still belong to it. */
async function lockOwnersAt(tx: Transaction, zoneId: number, labels: string[]): Promise<Map<string, Owner>> {
  const zone = await tx.dnsZone.findUnique({ where: { id: zoneId }, select: { ofDemos: true } });
  if (zone?.ofDemos !== true) {
    await lockRows(tx, 'team', { slug: labels });
    const teams = await tx.team.findMany({ where: { slug: { in: labels } }, select: { id: true, slug: true } });
    await leaveNewVersions(tx, 'team', idsOf(teams));
    return new Map(teams.map(({ id, slug }) => [slug, { teamId: id, demoId: null, team: slug }]));
  }
  await lockRows(tx, 'demo', { zone_id: zoneId, label: labels, released_at: null });
  const demos = await tx.demo.findMany({
    where: { zoneId, label: { in: labels }, releasedAt: null },
    select: { id: true, label: true, teamId: true, team: { select: { slug: true } } },
  });
  await leaveNewVersions(tx, 'demo', idsOf(demos));
  return new Map(demos.map(({ id, label, teamId, team }) => [label, { teamId, demoId: id, team: team?.slug ?? null }]));
}

const idsOf = (owners: readonly { readonly id: string }[]): string[] => owners.map(({ id }) => id);

/** The mirrored bodies of the given sets, by `idOf`. */
export async function readMirrored(
  tx: Transaction,
  zoneId: number,
  sets: readonly SetKey[],
): Promise<Map<string, string>> {
  const rows = await tx.dnsRrset.findMany({
    where: { zoneId, OR: keysOf(sets) },
    select: { name: true, type: true, body: true },
  });
  return new Map(rows.map((row) => [idOf(row), row.body]));
}

async function writeMirror(tx: Transaction, zoneId: number, judged: readonly Judged[], now: Date): Promise<void> {
  const added = judged.filter(({ result }) => result === 'added');
  await tx.dnsRrset.createMany({ data: added.map((set) => newRrset(zoneId, set, now)) });
  const stated = judged.filter(({ result }) => result === 'changed' || result === 'restated');
  // One statement: all of a page may be restated, and its owners wait meanwhile.
  await tx.$executeRaw`
    UPDATE dns_rrset SET body = stated.body, record_count = stated.records, updated_at = ${now}::timestamptz
    FROM unnest(${stated.map(({ name }) => name)}::text[], ${stated.map(({ type }) => type)}::text[],
                ${stated.map(({ found }) => found)}::text[], ${stated.map(({ found }) => recordCountOf(found))}::int[])
           AS stated (name, type, body, records)
    WHERE dns_rrset.zone_id = ${zoneId} AND dns_rrset.name = stated.name AND dns_rrset.type = stated.type`;
  const removed = judged.filter(({ result }) => result === 'removed');
  await tx.dnsRrset.deleteMany({ where: { zoneId, OR: keysOf(removed) } });
}

function newRrset(zoneId: number, { name, type, found }: FoundRrset, now: Date) {
  const stated = { body: found as string, recordCount: recordCountOf(found) };
  return { zoneId, name, type, ownerLabel: ownerLabelOf(name), ...stated, firstSeenAt: now, updatedAt: now };
}

/** The sets have just been read, so the number of their records is certain. */
async function forgetCeilings(tx: Transaction, zoneId: number, judged: readonly Judged[]): Promise<void> {
  const known = judged.filter(({ result }) => result !== 'skipped');
  await tx.dnsAuditEntry.updateMany({
    where: { recordsCeiling: { not: null }, zoneId, OR: keysOf(known) },
    data: { recordsCeiling: null },
  });
}

async function recordDrift(
  tx: Transaction,
  zoneId: number,
  judged: readonly Judged[],
  { before, now }: { readonly before: ReadonlyMap<string, string>; readonly now: Date },
): Promise<void> {
  const drifted = judged.filter(({ result }) => isDrift(result));
  await tx.dnsAuditEntry.createMany({
    data: drifted.map((set) => ({
      zoneId,
      name: set.name,
      type: set.type,
      teamId: set.owner?.teamId ?? null,
      demoId: set.owner?.demoId ?? null,
      foundBody: set.found,
      beforeBody: before.get(idOf(set)) ?? null,
      actor: 'upstream' as const,
      operation: 'drift',
      state: 'observed' as const,
      createdAt: now,
      completedAt: now,
    })),
  });
}

/** Reports drift of a compared set; other results are ignored. */
export type DriftReporter = (observation: Observation) => void;

/** Counts drift and logs a line per set without its records. The audit entry already exists. */
export function driftReporter(metrics: Metrics, log: Log): DriftReporter {
  const drifts = metrics.counter({
    name: 'corral_dns_drift_total',
    help: 'Record sets changed outside Corral',
    labelNames: ['kind'],
  });
  return ({ name, type, team, result }) => {
    if (!isDrift(result)) return;
    drifts.inc({ kind: result });
    log.warn('drift', { name, type, team, kind: result });
  };
}
