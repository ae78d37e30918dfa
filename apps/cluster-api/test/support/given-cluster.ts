import type { TeamRecord } from '@corral/auth';
import type { Prisma } from '@corral/database';

export interface GivenCluster {
  readonly team: TeamRecord;
  /** The ref of an existing connection. */
  readonly ref: string;
  readonly name: string;
  /** When its first pass began. Null for a draft. */
  readonly startedAt: Date | null;
}

/** Inserts a cluster row, for tests that only need its existence. */
export async function givenCluster(db: Prisma, { team, ref, name, startedAt }: GivenCluster): Promise<{ id: string }> {
  const connection = await db.connection.findUniqueOrThrow({ where: { teamId_ref: { teamId: team.id, ref } } });
  return db.cluster.create({
    data: { teamId: team.id, connectionId: connection.id, name, spec: {}, desiredHash: 'sha256:0', startedAt },
    select: { id: true },
  });
}
