import {
  asClusterId,
  asConnectionId,
  asServerId,
  type ClusterId,
  type ConnectionId,
  type ConnectionPhase,
  type ConnectionProject,
  type ServerId,
  type TeamId,
} from '@corral/contracts';
import { type Queryable, readClock, type Transaction } from '@corral/database';
import type { Columns } from './columns.js';
import { lockServersOf } from './locks.js';
import { cancelOperations } from './operations.js';

/** Columns of a connection for answers. */
export interface ConnectionRow {
  readonly id: string;
  readonly ref: string;
  readonly generation: number;
  readonly name: string;
  readonly provider: string;
  readonly providerConfig: unknown;
  readonly phase: string;
  readonly verifiedAt: Date | null;
  readonly message: string;
  readonly project: unknown;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Its encrypted token. */
export interface SealedTokenRow {
  readonly tokenKeyId: string;
  readonly sealedToken: Uint8Array;
}

/** The version of the token on the garden, and the name of its Secret. */
export interface ConnectionOnGardenRow {
  readonly gardenName: string;
  /** Incremented with each new token. */
  readonly tokenVersion: number;
  /** The version in the Secret on the garden. */
  readonly gardenTokenVersion: number;
}

export const connectionColumns = {
  shown: {
    id: 'id',
    ref: 'ref',
    generation: 'generation',
    name: 'name',
    provider: 'provider',
    providerConfig: 'provider_config',
    phase: 'phase::text',
    verifiedAt: 'verified_at',
    message: 'message',
    project: 'project',
    createdAt: 'created_at',
    updatedAt: 'updated_at',
  } satisfies Columns<ConnectionRow>,
  token: { tokenKeyId: 'token_key_id', sealedToken: 'sealed_token' } satisfies Columns<SealedTokenRow>,
  onGarden: {
    gardenName: 'garden_name',
    tokenVersion: 'token_version',
    gardenTokenVersion: 'garden_token_version',
  } satisfies Columns<ConnectionOnGardenRow>,
} as const;

/** A stored connection, without its token. */
export interface ConnectionRecord {
  readonly id: ConnectionId;
  readonly ref: string;
  /** Number of accepted changes. */
  readonly generation: number;
  readonly name: string;
  readonly provider: string;
  readonly providerConfig: Readonly<Record<string, unknown>>;
  readonly phase: ConnectionPhase;
  /** The time when the provider last accepted the token. */
  readonly verifiedAt: Date | null;
  readonly message: string;
  /** The project according to the provider's answers; null until there was one for this token. */
  readonly project: Readonly<Omit<ConnectionProject, 'currency'>> | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export function connectionOf(row: ConnectionRow): ConnectionRecord {
  return {
    id: asConnectionId(row.id),
    ref: row.ref,
    generation: row.generation,
    name: row.name,
    provider: row.provider,
    providerConfig: row.providerConfig as ConnectionRecord['providerConfig'],
    phase: row.phase as ConnectionPhase,
    verifiedAt: row.verifiedAt,
    message: row.message,
    project: row.project as ConnectionRecord['project'],
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}

/** An encrypted token with the id of its key. Only the process that uses the token decrypts it. */
export interface SealedToken {
  readonly keyId: string;
  readonly bytes: Uint8Array;
}

export const sealedTokenOf = ({ tokenKeyId, sealedToken }: SealedTokenRow): SealedToken => ({
  keyId: tokenKeyId,
  bytes: sealedToken,
});

/** Columns for storing a token with Prisma. */
export const tokenColumnsOf = ({ keyId, bytes }: SealedToken) => ({
  tokenKeyId: keyId,
  sealedToken: new Uint8Array(bytes),
});

/** An encrypted token with the id of the connection that it is bound to. */
export interface ConnectionToken extends SealedToken {
  readonly connectionId: ConnectionId;
}

export const connectionTokenOf = (row: SealedTokenRow & { readonly connectionId: string }): ConnectionToken => ({
  connectionId: asConnectionId(row.connectionId),
  ...sealedTokenOf(row),
});

/**
 * Makes due what uses a connection about which something has changed, never later than before: started clusters, and servers that have
 * a due time already. A draft has nothing on the garden that uses the token.
 *
 * @returns the ids to wake
 */
export async function makeUsersDue(
  db: Transaction,
  teamId: TeamId,
  connectionId: ConnectionId,
): Promise<{ clusters: ClusterId[]; servers: ServerId[] }> {
  // Those that are due already, too: until the change is committed, no pass over them begins with what is replaced.
  await lockServersOf(db, teamId, connectionId);
  const now = await readClock(db);
  const clusters = { teamId, connectionId, startedAt: { not: null } };
  const servers = { teamId, connectionId, dueAt: { not: null } };
  const due = { dueAt: now };
  await db.cluster.updateMany({ where: { ...clusters, OR: [{ dueAt: null }, { dueAt: { gt: now } }] }, data: due });
  await db.adoptedServer.updateMany({ where: { ...servers, dueAt: { gt: now } }, data: due });
  return {
    clusters: (await db.cluster.findMany({ where: clusters, select: { id: true } })).map(({ id }) => asClusterId(id)),
    servers: (await db.adoptedServer.findMany({ where: servers, select: { id: true } })).map(({ id }) =>
      asServerId(id),
    ),
  };
}

/** Delay in ms before credentials are removed. A pass that lost its lease may still be writing them until then. */
const CLEAN_UP_AFTER_MS = 60_000;

/**
 * Deletes a connection that nothing uses, with its token, and records what must be cleaned up on the garden.
 *
 * @param now the database's clock
 */
export async function removeConnection(
  tx: Transaction,
  { teamId, id, now }: { readonly teamId: TeamId; readonly id: ConnectionId; readonly now: Date },
): Promise<void> {
  const { gardenName: name } = await tx.connection.delete({ where: { teamId, id }, select: { gardenName: true } });
  await cancelOperations(tx, { teamId, targetId: id, now });
  const { projectNamespace: namespace } = await tx.team.findUniqueOrThrow({
    where: { id: teamId },
    select: { projectNamespace: true },
  });
  // Without a namespace nothing was ever written to the garden. With one, credentials may exist even when the row
  // does not say so, because an answer may have been lost.
  if (namespace === null) return;
  const dueAt = new Date(now.getTime() + CLEAN_UP_AFTER_MS);
  await tx.gardenCleanup.create({ data: { teamId, namespace, name, dueAt, createdAt: now } });
}

/**
 * Sources of a token refusal, and the time in seconds for which a successful verification outweighs each.
 *
 * A token that was just verified is not verified again immediately, because each pass that meets the refusal requests it.
 */
const settledSeconds = {
  /** The state of a Shoot may be about a call that the garden made minutes ago, before the verification. */
  garden: 300,
  /** Our own call is current. The time only limits how often the provider is called. */
  provider: 60,
  /** Prices are read every few hours, so no limit is needed. */
  'price list': 0,
} as const;

/**
 * Requests a verification of a connection whose token was refused. The refusal counts only after the provider has refused the
 * token in a verification. Only `Ready` connections are affected: the others are verified anyway.
 */
export async function requestVerification(
  db: Queryable,
  { teamId, connectionId }: { readonly teamId: TeamId; readonly connectionId: ConnectionId },
  refusedBy: keyof typeof settledSeconds,
): Promise<void> {
  await db.query(
    `UPDATE connection SET verify_at = least(verify_at, clock_timestamp())
     WHERE team_id = $1 AND id = $2 AND phase = 'Ready'
       AND (verified_at IS NULL OR verified_at < clock_timestamp() - make_interval(secs => $3::float8))`,
    [teamId, connectionId, settledSeconds[refusedBy]],
  );
}
