import type { Prisma } from '@corral/database';
import type { KeyRing } from '@corral/secrets';

/** What is sealed with a key, of those in the ring and those that something is still sealed with. */
export interface KeyUse {
  readonly id: string;
  readonly secrets: number;
  /**
   * `newest`: everything new is sealed with it. `in use`: something is still sealed with it. `unused`: nothing is, so it can
   * be removed from the ring. `missing`: something is, and the ring does not have it.
   */
  readonly state: 'newest' | 'in use' | 'unused' | 'missing';
}

export interface Rotated {
  /** Secrets that are under the newest key now and were not before. */
  readonly rotated: number;
  /** Refs of connections, with their teams, whose token does not open; they stay as they are. */
  readonly unreadable: readonly string[];
  readonly keys: readonly KeyUse[];
}

export interface RotateOptions {
  /** Rows that are read at a time. */
  readonly batchSize: number;
  /** Called after each batch with how many were sealed anew so far. */
  readonly onBatch: (rotated: number) => void;
}

/**
 * Seals the tokens of connections anew with the newest key. Each is one write that holds only if the token is still the
 * one that was read: this may be killed anywhere, be run again, or run beside the services and beside itself.
 */
export async function rotateSecrets(prisma: Prisma, ring: KeyRing, options: RotateOptions): Promise<Rotated> {
  const unreadable: string[] = [];
  let rotated = 0;
  for await (const { id, ref, sealedToken, tokenKeyId, team } of outdated(prisma, ring, options.batchSize)) {
    const token = ring.openOrNull({ keyId: tokenKeyId, bytes: sealedToken }, id);
    if (token === null) {
      unreadable.push(`${team.slug}/${ref}`);
      continue;
    }
    const { keyId, bytes } = ring.seal(token, id);
    const { count } = await prisma.connection.updateMany({
      where: { id, tokenKeyId, sealedToken },
      data: { tokenKeyId: keyId, sealedToken: new Uint8Array(bytes) },
    });
    rotated += count;
    if (rotated > 0 && rotated % options.batchSize === 0) options.onBatch(rotated);
  }
  return { rotated, unreadable, keys: await usesOf(prisma, ring) };
}

/** Which keys are in use; changes nothing. */
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

/** By id, in batches: what is sealed anew meanwhile drops out, and what cannot be is passed once. */
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
    select: { id: true, ref: true, sealedToken: true, tokenKeyId: true, team: { select: { slug: true } } },
  });
