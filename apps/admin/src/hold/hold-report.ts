import { type Hold, type HoldFinding, readClock, type Transaction } from '@corral/database';

/** What was found about one thing during the hold. */
interface ReportedFinding {
  readonly kind: 'Cluster' | 'AdoptedServer' | 'Shoot';
  /** Null for a Shoot without a row. */
  readonly team: string | null;
  readonly name: string;
  readonly finding: HoldFinding;
  readonly message: string;
}

/** What the syncs of a zone since the hold found, all together. The state and `skipped` are those of the newest that succeeded. */
interface ReportedSync {
  readonly zone: string;
  readonly state: string;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly skipped: number;
}

export interface HoldReport {
  readonly hold: Hold;
  readonly syncs: readonly ReportedSync[];
  readonly writes: { readonly pending: number; readonly applied: number; readonly notApplied: number };
  readonly findings: readonly ReportedFinding[];
  /** What a restore brings back although it may have ended since the backup. */
  readonly broughtBack: { readonly dnsTokens: number; readonly invitations: number; readonly members: number };
  /** What has to be read before the report is complete, as sentences. */
  readonly missing: readonly string[];
}

/** Reads what is known during a hold. */
export async function readHoldReport(db: Transaction, hold: Hold): Promise<HoldReport> {
  const facts = {
    syncs: await readSyncs(db, hold),
    writes: await readWrites(db, hold),
    findings: await readFindings(db, hold),
    isGardenListed: await readGardenListed(db, hold),
  };
  return {
    hold,
    syncs: facts.syncs,
    writes: facts.writes,
    findings: facts.findings,
    broughtBack: await readBroughtBack(db),
    missing: missingIn(facts),
  };
}

interface Facts extends Pick<HoldReport, 'syncs' | 'writes' | 'findings'> {
  readonly isGardenListed: boolean;
}

/** What has to be read before a hold may end. Pure. */
function missingIn({ syncs, writes, findings, isGardenListed }: Facts): string[] {
  const unread = (kind: ReportedFinding['kind']): number =>
    findings.filter((each) => each.kind === kind && each.finding === 'unread').length;
  const missing = syncs
    .filter(({ state }) => state !== 'succeeded')
    .map(
      ({ zone }) =>
        `The zone ${zone} has not been compared with its mirror. A reconciler compares all zones when it starts and at intervals; \`zone sync\` compares that of the teams now.`,
    );
  for (const { zone, skipped } of syncs) {
    if (skipped === 0) continue;
    missing.push(
      `Record sets of the zone ${zone} that were left out because they were written shortly before: ${skipped}. The next \`zone sync\` compares them.`,
    );
  }
  if (writes.pending > 0) missing.push(`DNS writes with an unknown outcome: ${writes.pending}.`);
  if (unread('Cluster') > 0) missing.push(`Clusters whose Shoot was not read: ${unread('Cluster')}.`);
  if (unread('AdoptedServer') > 0) missing.push(`Adopted servers that were not read: ${unread('AdoptedServer')}.`);
  const hasClusters = findings.some(({ kind }) => kind === 'Cluster');
  if (hasClusters && !isGardenListed)
    missing.push('The Shoots of the garden were not listed. A reconciler lists them when it starts and at intervals.');
  return missing;
}

async function readSyncs(db: Transaction, { begunAt }: Hold): Promise<ReportedSync[]> {
  const zones = await db.dnsZone.findMany({ select: { name: true }, orderBy: { name: 'asc' } });
  const runs = await db.dnsSyncRun.findMany({ where: { startedAt: { gte: begunAt } }, orderBy: { startedAt: 'desc' } });
  return zones.map(({ name: zone }) => {
    const ofZone = runs.filter(({ zoneName }) => zoneName === zone);
    const shown = ofZone.find(({ state }) => state === 'succeeded') ?? ofZone[0];
    const sumOf = (column: 'added' | 'changed' | 'removed') => ofZone.reduce((sum, run) => sum + run[column], 0);
    return {
      zone,
      state: shown?.state ?? 'none',
      added: sumOf('added'),
      changed: sumOf('changed'),
      removed: sumOf('removed'),
      skipped: shown?.skipped ?? 0,
    };
  });
}

async function readWrites(db: Transaction, { begunAt }: Hold): Promise<HoldReport['writes']> {
  // One pass over the log.
  const found = await db.dnsAuditEntry.groupBy({
    by: ['state', 'foundApplied'],
    where: { OR: [{ state: 'pending' }, { state: 'settled', completedAt: { gte: begunAt } }] },
    _count: true,
  });
  const countOf = (state: string, foundApplied: boolean | null): number =>
    found.find((each) => each.state === state && each.foundApplied === foundApplied)?._count ?? 0;
  return {
    pending: countOf('pending', null),
    applied: countOf('settled', true),
    notApplied: countOf('settled', false),
  };
}

const unread = { finding: 'unread', message: 'No pass has read it yet.' } as const;

async function readFindings(db: Transaction, { id: holdId }: Hold): Promise<ReportedFinding[]> {
  const found = await db.holdFinding.findMany({ where: { holdId } });
  const byTarget = new Map(found.map((each) => [`${each.targetKind} ${each.targetId}`, each]));
  const of = (kind: ReportedFinding['kind'], id: string): Pick<ReportedFinding, 'finding' | 'message'> => {
    const { finding, message } = byTarget.get(`${kind} ${id}`) ?? unread;
    return { finding: finding as HoldFinding, message };
  };
  const team = { select: { slug: true } };
  const clusters = await db.cluster.findMany({
    where: { startedAt: { not: null } },
    select: { id: true, name: true, team },
  });
  const servers = await db.adoptedServer.findMany({ select: { id: true, serverId: true, team } });
  const all: ReportedFinding[] = [
    ...servers.map(({ id, serverId, team: { slug } }) => ({
      kind: 'AdoptedServer' as const,
      team: slug,
      name: String(serverId),
      ...of('AdoptedServer', id),
    })),
    ...clusters.map(({ id, name, team: { slug } }) => ({
      kind: 'Cluster' as const,
      team: slug,
      name,
      ...of('Cluster', id),
    })),
    ...found
      .filter(({ targetKind }) => targetKind === 'Shoot')
      .map(({ targetId }) => ({ kind: 'Shoot' as const, team: null, name: targetId, ...of('Shoot', targetId) })),
  ];
  const keyOf = ({ kind, team, name }: ReportedFinding): string => [kind, team ?? '', name].join(' ');
  return all.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
}

async function readGardenListed(db: Transaction, { id }: Hold): Promise<boolean> {
  return (await db.holdFinding.count({ where: { holdId: id, targetKind: 'Garden' } })) === 1;
}

async function readBroughtBack(db: Transaction): Promise<HoldReport['broughtBack']> {
  const now = await readClock(db);
  return {
    dnsTokens: await db.dnsToken.count({
      where: { revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] },
    }),
    invitations: await db.invitation.count({ where: { acceptedAt: null, revokedAt: null, expiresAt: { gt: now } } }),
    members: await db.membership.count(),
  };
}
