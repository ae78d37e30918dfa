import { connectionColumns, prismaSelect, sealedTokenOf, tokenColumnsOf } from '@corral/cluster-data';
import type { Prisma } from '@corral/database';
import type { KeyRing, Sealed } from '@corral/secrets';

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
  /** `team/ref` of connections, and `team/name` of webhooks, that cannot be decrypted; they are not changed. */
  readonly unreadable: readonly string[];
  readonly keys: readonly KeyUse[];
}

export interface RotateOptions {
  /** Rows per batch. */
  readonly batchSize: number;
  /** Called after each batch with the number of secrets sealed so far. */
  readonly onBatch: (rotated: number) => void;
}

/** A row with sealed texts. */
interface SealedRow {
  readonly id: string;
  /** `team/ref`, or `team/name`. */
  readonly name: string;
  readonly sealed: Sealed;
}

interface SealedTable {
  /** Rows that another key sealed, by id. */
  readBatch(newest: string, after: string | null, batchSize: number): Promise<SealedRow[]>;
  /** Takes effect only if the texts are unchanged since they were read. @returns the number of changed rows */
  reseal(row: SealedRow, sealed: Sealed): Promise<number>;
  /** The number of rows by key. */
  countKeys(): Promise<readonly (readonly [keyId: string, rows: number])[]>;
}

const bytesOf = ({ bytes }: Sealed) => new Uint8Array(bytes);

const connectionTokens = (prisma: Prisma): SealedTable => ({
  async readBatch(newest, after, take) {
    const rows = await prisma.connection.findMany({
      where: { tokenKeyId: { not: newest }, ...(after === null ? {} : { id: { gt: after } }) },
      ...{ orderBy: { id: 'asc' }, take },
      select: { id: true, ref: true, ...prismaSelect(connectionColumns.token), team: { select: { slug: true } } },
    });
    return rows.map(({ id, ref, team, ...row }) => ({ id, name: `${team.slug}/${ref}`, sealed: sealedTokenOf(row) }));
  },
  async reseal({ id, sealed: { keyId, bytes } }, sealed) {
    const where = { id, ...tokenColumnsOf({ keyId, bytes }) };
    return (await prisma.connection.updateMany({ where, data: tokenColumnsOf(sealed) })).count;
  },
  async countKeys() {
    const rows = await prisma.connection.groupBy({ by: ['tokenKeyId'], _count: { _all: true } });
    return rows.map(({ tokenKeyId, _count }) => [tokenKeyId, _count._all]);
  },
});

const webhookSecrets = (prisma: Prisma): SealedTable => ({
  async readBatch(newest, after, take) {
    const rows = await prisma.webhook.findMany({
      where: { secretsKeyId: { not: newest }, ...(after === null ? {} : { id: { gt: after } }) },
      ...{ orderBy: { id: 'asc' }, take, include: { team: { select: { slug: true } } } },
    });
    return rows.map(({ id, name, team, secretsKeyId: keyId, sealedSecrets: bytes }) => ({
      ...{ id, name: `${team.slug}/${name}`, sealed: { keyId, bytes } },
    }));
  },
  async reseal({ id, sealed: from }, to) {
    const where = { id, secretsKeyId: from.keyId, sealedSecrets: bytesOf(from) };
    const data = { secretsKeyId: to.keyId, sealedSecrets: bytesOf(to) };
    return (await prisma.webhook.updateMany({ where, data })).count;
  },
  async countKeys() {
    const rows = await prisma.webhook.groupBy({ by: ['secretsKeyId'], _count: { _all: true } });
    return rows.map(({ secretsKeyId, _count }) => [secretsKeyId, _count._all]);
  },
});

const sealedTables = (prisma: Prisma): readonly SealedTable[] => [connectionTokens(prisma), webhookSecrets(prisma)];

/**
 * Seals the tokens of connections and the secrets of webhooks with the newest key. Each write applies only if the text is unchanged
 * since it was read, so this can be killed, repeated, and run concurrently with the services and with itself.
 */
export async function rotateSecrets(prisma: Prisma, ring: KeyRing, options: RotateOptions): Promise<Rotated> {
  const unreadable: string[] = [];
  let rotated = 0;
  for (const table of sealedTables(prisma)) {
    for await (const row of outdated(table, ring, options.batchSize)) {
      const text = ring.openOrNull(row.sealed, row.id);
      if (text === null) {
        unreadable.push(row.name);
        continue;
      }
      rotated += await table.reseal(row, ring.seal(text, row.id));
      if (rotated > 0 && rotated % options.batchSize === 0) options.onBatch(rotated);
    }
  }
  return { rotated, unreadable, keys: await usesOf(prisma, ring) };
}

/** Counts the secrets of each key; changes nothing. */
export async function usesOf(prisma: Prisma, ring: KeyRing): Promise<KeyUse[]> {
  const counts = new Map<string, number>();
  for (const table of sealedTables(prisma)) {
    for (const [id, rows] of await table.countKeys()) counts.set(id, (counts.get(id) ?? 0) + rows);
  }
  const inRing = ring.keyIds.map((id) => {
    const secrets = counts.get(id) ?? 0;
    const older = secrets === 0 ? ('unused' as const) : ('in use' as const);
    return { id, secrets, state: ring.isOutdated({ keyId: id }) ? older : ('newest' as const) };
  });
  const missing = [...counts].filter(([id]) => !ring.keyIds.includes(id)).sort();
  return [...inRing, ...missing.map(([id, secrets]) => ({ id, secrets, state: 'missing' as const }))];
}

/** Iterates by id in batches. Rows sealed meanwhile drop out, and each unreadable row is visited once. */
async function* outdated(table: SealedTable, ring: KeyRing, batchSize: number) {
  const newest = ring.keyIds[0] as string;
  let after: string | null = null;
  for (;;) {
    const rows: readonly SealedRow[] = await table.readBatch(newest, after, batchSize);
    yield* rows;
    after = rows.at(-1)?.id ?? null;
    if (after === null || rows.length < batchSize) return;
  }
}
