import type { Hold, HoldFinding, Queryable } from '@corral/database';

/** What was found about one thing during the hold. */
export interface ReportedFinding {
  readonly kind: 'Cluster' | 'AdoptedServer' | 'Shoot';
  /** Null for a Shoot without a row. */
  readonly team: string | null;
  readonly name: string;
  readonly finding: HoldFinding;
  readonly message: string;
}

/** What the syncs of a zone since the hold found, all together. The state and `skipped` are those of the newest that succeeded. */
export interface ReportedSync {
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
export async function readHoldReport(db: Queryable, hold: Hold): Promise<HoldReport> {
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
export function missingIn({ syncs, writes, findings, isGardenListed }: Facts): string[] {
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

async function readSyncs(db: Queryable, { begunAt }: Hold): Promise<ReportedSync[]> {
  const { rows } = await db.query<ReportedSync>(
    `SELECT zone.name AS zone, coalesce(run.state::text, 'none') AS state, coalesce(run.added, 0) AS added,
            coalesce(run.changed, 0) AS changed, coalesce(run.removed, 0) AS removed, coalesce(run.skipped, 0) AS skipped
     FROM dns_zone zone LEFT JOIN LATERAL (
       SELECT state, skipped, (sum(added) OVER ())::int AS added, (sum(changed) OVER ())::int AS changed,
              (sum(removed) OVER ())::int AS removed
       FROM dns_sync_run WHERE zone_name = zone.name AND started_at >= $1
       ORDER BY state = 'succeeded' DESC, started_at DESC LIMIT 1
     ) run ON true ORDER BY zone.name`,
    [begunAt],
  );
  return rows;
}

async function readWrites(db: Queryable, { begunAt }: Hold): Promise<HoldReport['writes']> {
  const { rows } = await db.query<HoldReport['writes']>(
    `SELECT (count(*) FILTER (WHERE state = 'pending'))::int AS pending,
            (count(*) FILTER (WHERE state = 'settled' AND found_applied))::int AS applied,
            (count(*) FILTER (WHERE state = 'settled' AND NOT found_applied))::int AS "notApplied"
     FROM dns_audit_entry WHERE state = 'pending' OR (state = 'settled' AND completed_at >= $1)`,
    [begunAt],
  );
  return rows[0] as HoldReport['writes'];
}

async function readFindings(db: Queryable, hold: Hold): Promise<ReportedFinding[]> {
  const { rows } = await db.query<ReportedFinding>(
    `SELECT target.kind, team.slug AS team, target.name, coalesce(finding.finding, 'unread') AS finding,
            coalesce(finding.message, 'No pass has read it yet.') AS message
     FROM (SELECT 'Cluster' AS kind, id, team_id, name FROM cluster WHERE started_at IS NOT NULL
           UNION ALL SELECT 'AdoptedServer', id, team_id, server_id::text FROM adopted_server) target
     JOIN team ON team.id = target.team_id
     LEFT JOIN hold_finding finding
            ON finding.hold_id = $1 AND finding.target_kind = target.kind AND finding.target_id = target.id::text
     UNION ALL
     SELECT 'Shoot', NULL, target_id, finding, message FROM hold_finding WHERE hold_id = $1 AND target_kind = 'Shoot'
     ORDER BY 1, 2, 3`,
    [hold.id],
  );
  return rows;
}

async function readGardenListed(db: Queryable, { id }: Hold): Promise<boolean> {
  const { rowCount } = await db.query("SELECT FROM hold_finding WHERE hold_id = $1 AND target_kind = 'Garden'", [id]);
  return rowCount === 1;
}

async function readBroughtBack(db: Queryable): Promise<HoldReport['broughtBack']> {
  const { rows } = await db.query<HoldReport['broughtBack']>(
    `SELECT (SELECT count(*)::int FROM dns_token
             WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())) AS "dnsTokens",
            (SELECT count(*)::int FROM invitation
             WHERE accepted_at IS NULL AND revoked_at IS NULL AND expires_at > now()) AS invitations,
            (SELECT count(*)::int FROM membership) AS members`,
  );
  return rows[0] as HoldReport['broughtBack'];
}
