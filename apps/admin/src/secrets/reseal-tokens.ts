import type { Prisma } from '@corral/database';
import { type KeyRing, SecretUnreadable } from '@corral/secrets';

export interface Resealed {
  /** Texts that are under the newest key now and were not before. */
  readonly resealed: number;
  /** Refs of connections, with their teams, whose token does not open; they stay as they are. */
  readonly unreadable: readonly string[];
  /** Keys that something is still sealed with. */
  readonly keysInUse: readonly string[];
}

/** Seals the tokens of connections anew where a newer key is there. Safe to repeat, and while services run. */
export async function resealTokens(prisma: Prisma, ring: KeyRing): Promise<Resealed> {
  const unreadable: string[] = [];
  let resealed = 0;
  const rows = await prisma.connection.findMany({
    orderBy: { id: 'asc' },
    select: { id: true, ref: true, sealedToken: true, tokenKeyId: true, team: { select: { slug: true } } },
  });
  for (const { id, ref, sealedToken, tokenKeyId, team } of rows) {
    if (!ring.isOutdated({ keyId: tokenKeyId })) continue;
    const token = openOrNull(ring, { keyId: tokenKeyId, bytes: sealedToken }, id);
    if (token === null) {
      unreadable.push(`${team.slug}/${ref}`);
      continue;
    }
    const { keyId, bytes } = ring.seal(token, id);
    // A token that was replaced meanwhile is under the newest key already.
    const { count } = await prisma.connection.updateMany({
      where: { id, tokenKeyId, sealedToken },
      data: { tokenKeyId: keyId, sealedToken: new Uint8Array(bytes) },
    });
    resealed += count;
  }
  const inUse = await prisma.connection.groupBy({ by: ['tokenKeyId'], orderBy: { tokenKeyId: 'asc' } });
  return { resealed, unreadable, keysInUse: inUse.map((row) => row.tokenKeyId) };
}

function openOrNull(ring: KeyRing, sealed: Parameters<KeyRing['open']>[0], owner: string): string | null {
  try {
    return ring.open(sealed, owner);
  } catch (error) {
    if (error instanceof SecretUnreadable) return null;
    throw error;
  }
}
