import { type CreatorRow, includeCreator } from '@corral/cluster-data';
import {
  type AccountAction,
  type ClaimConditions,
  clusterLimits,
  type ServiceAccountSpec,
  type TeamId,
  type TrustedIssuerSpec,
} from '@corral/contracts';
import type { PersonCaller } from '../changes/caller.js';
import type { Transaction } from '../changes/team-changes.js';
import { newestFirst } from '../paging.js';
import { found, Problem } from '../problem.js';

export interface AccountRecord {
  readonly id: string;
  readonly name: string;
  readonly spec: ServiceAccountSpec;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A token that a person created. */
export interface AccountTokenRecord {
  readonly id: string;
  readonly createdAt: Date;
  readonly createdBy: CreatorRow | null;
  readonly expiresAt: Date;
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
}

export interface TrustedIssuerRecord {
  readonly id: string;
  readonly name: string;
  readonly spec: TrustedIssuerSpec;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/**
 * Checks that the person is still an administrator. They may have lost the role since the request was authorized.
 *
 * @throws Problem `not_found`, `permission_denied`
 */
export async function requireAdminNow(tx: Transaction, { team, userId }: PersonCaller): Promise<void> {
  const key = { teamId: team.id, userId };
  const { role } = found(await tx.membership.findUnique({ where: { teamId_userId: key }, select: { role: true } }));
  if (role !== 'admin') throw new Problem('permission_denied', 'Only administrators of the team can do this.');
}

type AccountRow = NonNullable<Awaited<ReturnType<Transaction['serviceAccount']['findFirst']>>>;

const accountOf = ({ id, name, role, clusters, createdAt, updatedAt, ...row }: AccountRow): AccountRecord => {
  const dns = { withinName: row.dnsWithinName, withinTypes: row.dnsWithinTypes };
  const narrowing = { clusters, actions: row.actions as AccountAction[], dns };
  return { id, name, spec: { role, narrowing }, createdAt, updatedAt };
};

/** Sorted by name. */
export async function listAccounts(db: Transaction, teamId: TeamId): Promise<AccountRecord[]> {
  return (await db.serviceAccount.findMany({ where: { teamId }, orderBy: { name: 'asc' } })).map(accountOf);
}

export async function findAccount(db: Transaction, teamId: TeamId, name: string): Promise<AccountRecord | null> {
  const row = await db.serviceAccount.findUnique({ where: { teamId_name: { teamId, name } } });
  return row && accountOf(row);
}

export const countAccounts = (tx: Transaction, teamId: TeamId): Promise<number> =>
  tx.serviceAccount.count({ where: { teamId } });

/** Creates the account, or replaces its specification and ends its exchanged tokens: new ones are issued under the new rights. */
export async function saveAccount(
  tx: Transaction,
  { team: { id: teamId }, userId: createdById }: PersonCaller,
  name: string,
  { role, narrowing }: ServiceAccountSpec,
  now: Date,
): Promise<AccountRecord> {
  const { clusters, actions, dns } = narrowing;
  const columns = {
    role,
    clusters: [...clusters],
    actions: [...actions],
    dnsWithinName: dns.withinName,
    dnsWithinTypes: [...dns.withinTypes],
    updatedAt: now,
  };
  const saved = await tx.serviceAccount.upsert({
    where: { teamId_name: { teamId, name } },
    create: { teamId, name, createdById, createdAt: now, ...columns },
    update: columns,
  });
  await tx.serviceAccountToken.deleteMany({ where: { teamId, accountId: saved.id, issuerId: { not: null } } });
  return accountOf(saved);
}

/** Its tokens and trusted issuers go with it. */
export async function deleteAccount(tx: Transaction, teamId: TeamId, id: string): Promise<void> {
  await tx.serviceAccount.delete({ where: { id, teamId }, select: { id: true } });
}

/** The tokens that people created for an account, newest first. */
export async function listAccountTokens(
  db: Transaction,
  teamId: TeamId,
  accountId: string,
): Promise<AccountTokenRecord[]> {
  const rows = await db.serviceAccountToken.findMany({
    where: { teamId, accountId, issuerId: null },
    orderBy: newestFirst,
    take: clusterLimits.accountTokensActive + clusterLimits.accountTokensEndedKept,
    include: includeCreator,
  });
  return rows.map(({ creator, ...row }) => ({ ...row, createdBy: creator }));
}

export const countActiveTokens = (tx: Transaction, teamId: TeamId, accountId: string, now: Date): Promise<number> =>
  tx.serviceAccountToken.count({
    where: { teamId, accountId, revokedAt: null, issuerId: null, expiresAt: { gt: now } },
  });

/** Leaves room for one more ended token. Bounds the rows of an account, however often tokens are created and revoked. */
export async function deleteEndedTokens(tx: Transaction, teamId: TeamId, accountId: string, now: Date): Promise<void> {
  const old = await tx.serviceAccountToken.findMany({
    where: { teamId, accountId, issuerId: null, OR: [{ revokedAt: { not: null } }, { expiresAt: { lte: now } }] },
    orderBy: newestFirst,
    skip: clusterLimits.accountTokensEndedKept - 1,
    select: { id: true },
  });
  await tx.serviceAccountToken.deleteMany({ where: { teamId, id: { in: old.map(({ id }) => id) } } });
}

/** @returns the id of the token */
export async function insertToken(
  tx: Transaction,
  { team: { id: teamId }, userId: createdById }: PersonCaller,
  accountId: string,
  hash: Uint8Array,
  times: { readonly createdAt: Date; readonly expiresAt: Date },
): Promise<string> {
  const data = { teamId, accountId, hash: new Uint8Array(hash), createdById, ...times };
  return (await tx.serviceAccountToken.create({ data, select: { id: true } })).id;
}

/** @returns false when the token was revoked before; null when the account has no such token */
export async function revokeAccountToken(
  tx: Transaction,
  teamId: TeamId,
  accountId: string,
  id: string,
  now: Date,
): Promise<boolean | null> {
  const where = { id, teamId, accountId, issuerId: null };
  const { count } = await tx.serviceAccountToken.updateMany({
    where: { ...where, revokedAt: null },
    data: { revokedAt: now },
  });
  if (count === 1) return true;
  return (await tx.serviceAccountToken.count({ where })) === 0 ? null : false;
}

const withAccount = { account: { select: { name: true } } } as const;

type IssuerRow = NonNullable<Awaited<ReturnType<Transaction['trustedIssuer']['findFirst']>>>;

const issuerOf = (row: IssuerRow & { readonly account: { readonly name: string } }): TrustedIssuerRecord => {
  const { id, name, issuer, audience, claims, account, createdAt, updatedAt } = row;
  const spec = { issuer, audience, claims: claims as ClaimConditions, serviceAccount: account.name };
  return { id, name, spec, createdAt, updatedAt };
};

/** Sorted by name. */
export async function listIssuers(db: Transaction, teamId: TeamId): Promise<TrustedIssuerRecord[]> {
  const rows = await db.trustedIssuer.findMany({ where: { teamId }, orderBy: { name: 'asc' }, include: withAccount });
  return rows.map(issuerOf);
}

export async function findIssuer(db: Transaction, teamId: TeamId, name: string): Promise<TrustedIssuerRecord | null> {
  const where = { teamId_name: { teamId, name } };
  const row = await db.trustedIssuer.findUnique({ where, include: withAccount });
  return row && issuerOf(row);
}

export const countIssuers = (tx: Transaction, teamId: TeamId): Promise<number> =>
  tx.trustedIssuer.count({ where: { teamId } });

/** Creates the issuer, or replaces its specification and ends its tokens. */
export async function saveIssuer(
  tx: Transaction,
  { team: { id: teamId }, userId: createdById }: PersonCaller,
  name: string,
  { issuer, audience, claims }: TrustedIssuerSpec,
  accountId: string,
  now: Date,
): Promise<TrustedIssuerRecord> {
  const columns = { issuer, audience, claims: { ...claims }, accountId, updatedAt: now };
  const saved = await tx.trustedIssuer.upsert({
    where: { teamId_name: { teamId, name } },
    create: { teamId, name, createdById, createdAt: now, ...columns },
    update: columns,
    include: withAccount,
  });
  await tx.serviceAccountToken.deleteMany({ where: { teamId, issuerId: saved.id } });
  return issuerOf(saved);
}

/** Its tokens go with it. */
export async function deleteIssuer(tx: Transaction, teamId: TeamId, id: string): Promise<void> {
  await tx.trustedIssuer.delete({ where: { id, teamId }, select: { id: true } });
}
