import type { TeamRecord } from '@corral/auth';
import type { Prisma } from '@corral/database';

export interface GivenCluster {
  readonly team: TeamRecord;
  /** Of a connection that exists. */
  readonly ref: string;
  readonly name: string;
  /** When its first pass began; null for a draft. */
  readonly startedAt: Date | null;
}

/** The row of a cluster, for tests of what lies around clusters. */
export async function givenCluster(db: Prisma, { team, ref, name, startedAt }: GivenCluster): Promise<{ id: string }> {
  const connection = await db.connection.findUniqueOrThrow({ where: { teamId_ref: { teamId: team.id, ref } } });
  return db.cluster.create({
    data: { teamId: team.id, connectionId: connection.id, name, spec: {}, desiredHash: 'sha256:0', startedAt },
    select: { id: true },
  });
}
