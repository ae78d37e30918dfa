import { connectionColumns, prismaSelect, sealedTokenOf, tokenColumnsOf } from '@corral/cluster-data';
import type { Prisma } from '@corral/database';
import type { KeyRing } from '@corral/secrets';

/** The number of secrets sealed with a key, for keys in the ring and keys still in use. */
export interface KeyUse {
  readonly id: string;
  readonly secrets: number;
  /**
   * `newest`: seals new secrets. `in use`: an older key with secrets. `unused`: has no secrets and can be removed from
   * the ring. `missing`: has secrets, but is not in the ring.
   */
  readonly state: 'newest' | 'in use' | 'unused' | 'missing';
}

export interface Rotated {
  /** Number of secrets newly sealed with the newest key. */
  readonly rotated: number;
  /** `team/ref` of connections whose token cannot be decrypted; they are not changed. */
  readonly unreadable: readonly string[];
  readonly keys: readonly KeyUse[];
}

export interface RotateOptions {
  /** Rows per batch. */
  readonly batchSize: number;
  /** Called after each batch with the number of secrets sealed so far. */
  readonly onBatch: (rotated: number) => void;
}

/**
 * Seals the tokens of connections with the newest key. Each write applies only if the token is unchanged since it was
 * read, so this can be killed, repeated, and run concurrently with the services and with itself.
 */
export async function rotateSecrets(prisma: Prisma, ring: KeyRing, options: RotateOptions): Promise<Rotated> {
  const unreadable: string[] = [];
  let rotated = 0;
  for await (const { id, ref, team, ...row } of outdated(prisma, ring, options.batchSize)) {
    const token = ring.openOrNull(sealedTokenOf(row), id);
    if (token === null) {
      unreadable.push(`${team.slug}/${ref}`);
      continue;
    }
    const { count } = await prisma.connection.updateMany({
      where: { id, ...row },
      data: tokenColumnsOf(ring.seal(token, id)),
    });
    rotated += count;
    if (rotated > 0 && rotated % options.batchSize === 0) options.onBatch(rotated);
  }
  return { rotated, unreadable, keys: await usesOf(prisma, ring) };
}

/** Counts the secrets of each key; changes nothing. */
export async function usesOf(prisma: Prisma, ring: KeyRing): Promise<KeyUse[]> {
  const rows = await prisma.connection.groupBy({
    by: ['tokenKeyId'],
    orderBy: { tokenKeyId: 'asc' },
    _count: { _all: true },
  });
  const counts = new Map(rows.map((row) => [row.tokenKeyId, row._count._all]));
  const inRing = ring.keyIds.map((id) => {
    const secrets = counts.get(id) ?? 0;
    const older = secrets === 0 ? ('unused' as const) : ('in use' as const);
    return { id, secrets, state: ring.isOutdated({ keyId: id }) ? older : ('newest' as const) };
  });
  const missing = [...counts].filter(([id]) => !ring.keyIds.includes(id));
  return [...inRing, ...missing.map(([id, secrets]) => ({ id, secrets, state: 'missing' as const }))];
}

/** Iterates by id in batches. Rows sealed meanwhile drop out, and each unreadable row is visited once. */
async function* outdated(prisma: Prisma, ring: KeyRing, batchSize: number) {
  const newest = ring.keyIds[0] as string;
  let after: string | null = null;
  for (;;) {
    const rows: Awaited<ReturnType<typeof readBatch>> = await readBatch(prisma, { newest, after, batchSize });
    yield* rows;
    after = rows.at(-1)?.id ?? null;
    if (after === null || rows.length < batchSize) return;
  }
}

const readBatch = (
  prisma: Prisma,
  { newest, after, batchSize }: { newest: string; after: string | null; batchSize: number },
) =>
  prisma.connection.findMany({
    where: { tokenKeyId: { not: newest }, ...(after === null ? {} : { id: { gt: after } }) },
    orderBy: { id: 'asc' },
    take: batchSize,
    select: { id: true, ref: true, ...prismaSelect(connectionColumns.token), team: { select: { slug: true } } },
  });
