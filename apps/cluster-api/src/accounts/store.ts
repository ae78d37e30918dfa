import { hashAccountToken, mintAccountToken } from '@corral/auth';
import { includeCreator } from '@corral/cluster-data';
import {
  type AccountAction,
  type AuditAction,
  clusterLimits,
  type FieldChange,
  type Role,
  type ServiceAccountSpec,
} from '@corral/contracts';
import type { Prisma } from '@corral/database';
import canonicalize from 'canonicalize';
import { recordAudit } from '../audit/record-audit.js';
import type { PersonCaller } from '../changes/caller.js';
import type { ChangeTeam, Transaction } from '../changes/team-changes.js';
import { Problem } from '../problem.js';
import type { AccountRecord, AccountStore, AccountTransaction } from './accounts.js';
import { found } from './accounts.js';

/** Service accounts of a team and the tokens that people created for them. */
export const accountStore = (prisma: Prisma, changeTeam: ChangeTeam): AccountStore => ({
  async list({ id: teamId }) {
    return (await prisma.serviceAccount.findMany({ where: { teamId }, orderBy: { name: 'asc' } })).map(accountOf);
  },

  find: ({ id }, name) => findAccount(prisma, id, name),

  listTokens: ({ id: accountId }) =>
    prisma.serviceAccountToken
      .findMany({
        where: { accountId, issuerId: null },
        orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
        take: clusterLimits.accountTokensActive + clusterLimits.accountTokensEndedKept,
        include: includeCreator,
      })
      .then((rows) => rows.map(({ creator, ...row }) => ({ ...row, createdBy: creator }))),

  change: (caller, work) =>
    changeTeam(caller, async (tx, now) => {
      await requireAdminNow(tx, caller);
      return work(transactionOf(tx, caller, now));
    }),
});

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

export async function findAccount(
  db: Pick<Transaction, 'serviceAccount'>,
  teamId: string,
  name: string,
): Promise<AccountRecord | null> {
  const row = await db.serviceAccount.findUnique({ where: { teamId_name: { teamId, name } } });
  return row && accountOf(row);
}

interface AccountRow {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly clusters: string[];
  readonly actions: string[];
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const accountOf = ({ id, name, role, clusters, actions, createdAt, updatedAt }: AccountRow): AccountRecord => ({
  id,
  name,
  spec: { role, narrowing: { clusters, actions: actions as AccountAction[] } },
  createdAt,
  updatedAt,
});

function transactionOf(tx: Transaction, caller: PersonCaller, now: Date): AccountTransaction {
  const teamId = caller.team.id;
  const { userId: createdById } = caller;
  const activeTokens = { revokedAt: null, issuerId: null, expiresAt: { gt: now } };
  const audit = (
    action: AuditAction,
    { id, name }: Pick<AccountRecord, 'id' | 'name'>,
    what: { changes?: readonly FieldChange[]; detail?: Record<string, string> } = {},
  ) => recordAudit(tx, caller, { action, target: { kind: 'ServiceAccount', id, name }, ...what });
  return {
    now,
    find: (name) => findAccount(tx, teamId, name),
    count: () => tx.serviceAccount.count({ where: { teamId } }),

    async save(name, spec) {
      const present = await findAccount(tx, teamId, name);
      const changes = changesOf(present?.spec ?? null, spec);
      if (present !== null && changes.length === 0) return present;
      const { role, narrowing } = spec;
      const columns = { role, clusters: [...narrowing.clusters], actions: [...narrowing.actions], updatedAt: now };
      const saved = await tx.serviceAccount.upsert({
        where: { teamId_name: { teamId, name } },
        create: { teamId, name, createdById, createdAt: now, ...columns },
        update: columns,
      });
      // Exchanged tokens are cheap to replace, and a new one is issued under the new rights.
      await tx.serviceAccountToken.deleteMany({ where: { teamId, accountId: saved.id, issuerId: { not: null } } });
      await audit(present === null ? 'service_account.create' : 'service_account.change', saved, { changes });
      return accountOf(saved);
    },

    async remove(account) {
      await tx.serviceAccount.delete({ where: { id: account.id, teamId }, select: { id: true } });
      await audit('service_account.delete', account);
    },

    countActiveTokens: ({ id: accountId }) =>
      tx.serviceAccountToken.count({ where: { teamId, accountId, ...activeTokens } }),

    async issueToken(account, expiresAt) {
      const accountId = account.id;
      await dropEnded(tx, accountId, now);
      const token = mintAccountToken();
      const hash = new Uint8Array(hashAccountToken(token));
      const data = { teamId, accountId, hash, createdById, createdAt: now, expiresAt };
      const { id } = await tx.serviceAccountToken.create({ data, select: { id: true } });
      await audit('service_account.create_token', account, {
        detail: { tokenId: id, expiresAt: expiresAt.toISOString() },
      });
      return { id, token, expiresAt };
    },

    async revokeToken(account, id) {
      const where = { id, teamId, accountId: account.id, issuerId: null };
      if ((await tx.serviceAccountToken.count({ where })) === 0) return false;
      const { count } = await tx.serviceAccountToken.updateMany({
        where: { ...where, revokedAt: null },
        data: { revokedAt: now },
      });
      if (count === 1) await audit('service_account.revoke_token', account, { detail: { tokenId: id } });
      return true;
    },
  };
}

/** Bounds the rows of an account, however often tokens are created and revoked. */
async function dropEnded(tx: Transaction, accountId: string, now: Date): Promise<void> {
  const ended = { accountId, issuerId: null, OR: [{ revokedAt: { not: null } }, { expiresAt: { lte: now } }] };
  const old = await tx.serviceAccountToken.findMany({
    where: ended,
    orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
    skip: clusterLimits.accountTokensEndedKept - 1,
    select: { id: true },
  });
  await tx.serviceAccountToken.deleteMany({ where: { id: { in: old.map(({ id }) => id) } } });
}

function changesOf(from: ServiceAccountSpec | null, to: ServiceAccountSpec): FieldChange[] {
  const fields = (spec: ServiceAccountSpec) => ({
    '/spec/role': spec.role,
    '/spec/narrowing/clusters': spec.narrowing.clusters,
    '/spec/narrowing/actions': spec.narrowing.actions,
  });
  const before: Partial<ReturnType<typeof fields>> = from === null ? {} : fields(from);
  return Object.entries(fields(to))
    .map(([pointer, value]) => ({ pointer, from: before[pointer as keyof typeof before] ?? null, to: value }))
    .filter((change) => canonicalize(change.from) !== canonicalize(change.to));
}
