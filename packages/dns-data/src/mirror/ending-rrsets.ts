import { asTeamId, endOfRrset, expiresLabel } from '@corral/contracts';
import { type Prisma, readClock } from '@corral/database';
import type { RemainingRrset } from '../demos/demo-ends.js';
import { readRrsetBody } from '../rrset.js';
import { lockOwner } from '../writes/owner-entries.js';

/** A record set of a team with the label that ends it. */
interface EndingRrset extends Required<RemainingRrset> {
  readonly endsAt: Date;
  readonly changedAt: Date;
}

/** Record sets that end by themselves. */
export const endingRrsets = (prisma: Prisma) => ({
  /** Those of all teams, the first to end first, with the time by the database's clock. */
  async list(): Promise<{ readonly sets: EndingRrset[]; readonly now: Date }> {
    const rows = await prisma.dnsRrset.findMany({
      where: { zone: { ofDemos: false }, body: { contains: `"${expiresLabel}"` } },
    });
    const slugs = [...new Set(rows.map(({ ownerLabel }) => ownerLabel))];
    const teams = await prisma.team.findMany({ where: { slug: { in: slugs } }, select: { id: true, slug: true } });
    const teamOf = new Map(teams.map(({ id, slug }) => [slug, asTeamId(id)]));
    const sets = rows.flatMap(({ zoneId, name, type, ownerLabel, body, updatedAt: changedAt }): EndingRrset[] => {
      const teamId = teamOf.get(ownerLabel);
      const endsAt = endOfRrset(readRrsetBody(body).labels, changedAt);
      if (teamId === undefined || endsAt === null) return [];
      const owner = { kind: 'team', id: teamId, teamId } as const;
      return [{ owner, key: { zoneId: Number(zoneId), name, type }, body, endsAt, changedAt }];
    });
    const now = await readClock(prisma);
    return { sets: sets.toSorted((one, other) => one.endsAt.getTime() - other.endsAt.getTime()), now };
  },

  /** Puts a reminder into the audit log. @returns false if there is one since the set was changed */
  async remind({ owner, key, body, changedAt }: EndingRrset): Promise<boolean> {
    return prisma.$transaction(async (tx) => {
      await lockOwner(tx, owner);
      const reminder = { ...key, operation: 'remind' } as const;
      const earlier = await tx.dnsAuditEntry.findFirst({
        where: { ...reminder, createdAt: { gte: changedAt } },
        select: { id: true },
      });
      if (earlier !== null) return false;
      const now = await readClock(tx);
      await tx.dnsAuditEntry.create({
        data: {
          ...reminder,
          teamId: owner.teamId,
          actor: 'service',
          state: 'completed',
          beforeBody: body,
          afterBody: body,
          createdAt: now,
          completedAt: now,
        },
        select: { id: true },
      });
      return true;
    });
  },
});
export type EndingRrsets = ReturnType<typeof endingRrsets>;
