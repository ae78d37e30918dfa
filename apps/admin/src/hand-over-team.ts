import { type DeletedTeamRecord, type MemberRecord, type TeamRecord, teamStore, userStore } from '@corral/auth';
import { lockTeamChanges, type Transaction } from '@corral/database';
import { readUsage } from '@corral/dns-data';
import { OperatorError } from './operator-error.js';
import { recordAct } from './operators/acts.js';

/** What is handed over, and to whom. */
export interface HandOver {
  readonly recordSets: number;
  readonly records: number;
  /** Members of the receiving team, who get the same roles. */
  readonly members: readonly MemberRecord[];
}

/** @throws OperatorError when no deleted team has the name any more */
export async function getDeletedTeam(db: Transaction, slug: string): Promise<DeletedTeamRecord> {
  const teams = teamStore(db);
  const team = await teams.findDeletedTeam(slug);
  if (team !== null) return team;
  throw new OperatorError(
    (await teams.findTeam(slug)) === null
      ? `There is no deleted team "${slug}". \`operators\` shows which teams were deleted.`
      : `Team ${slug} is not deleted. Run \`team delete ${slug} --keep-records\`, or give it other members with \`team add-member\`.`,
  );
}

/** Reads what a hand-over would give to whom. */
export async function planHandOver(db: Transaction, former: DeletedTeamRecord, to: TeamRecord): Promise<HandOver> {
  if (to.suspendedAt !== null)
    throw new OperatorError(`Team ${to.slug} is suspended: run \`team resume ${to.slug}\` first.`);
  const { rrsets: recordSets, records } = await readUsage(db, former);
  return { recordSets, records, members: await userStore(db).listMembers(to) };
}

/**
 * Creates the team of a deleted one again, with the members of another team. Record sets belong to their last label, so the new team
 * owns them. It keeps the quota of records; nothing else of the deleted team comes back.
 *
 * @throws OperatorError when the name has a team by now, or the receiving team was suspended or deleted
 */
export async function handOverTeam(
  tx: Transaction,
  { former, to, operator }: { former: DeletedTeamRecord; to: TeamRecord; operator: string },
): Promise<HandOver> {
  const { slug } = former;
  await lockTeamChanges(tx, to.id);
  const receiver = await teamStore(tx).findTeam(to.slug);
  if (receiver === null) throw new OperatorError(`Team ${to.slug} was deleted.`);
  const handOver = await planHandOver(tx, await getDeletedTeam(tx, slug), receiver);
  const { dnsRecordsMax } = await tx.team.findUniqueOrThrow({ where: { id: former.id } });
  const team = await teamStore(tx).createTeam(slug, true);
  await tx.team.update({ where: { id: team.id }, data: { dnsRecordsMax } });
  const memberships = await tx.membership.findMany({ where: { teamId: to.id }, select: { userId: true, role: true } });
  await tx.membership.createMany({ data: memberships.map((member) => ({ ...member, teamId: team.id })) });
  const { recordSets, records } = handOver;
  const detail = { from: former.id, to: to.slug, recordSets, records, members: memberships.length };
  const target = { kind: 'Team', id: team.id, name: slug };
  for (const each of [former, to, team])
    await recordAct(tx, operator, { team: each, action: 'team.hand_over', target, detail });
  return handOver;
}
