import type { AuditAction, ClaimConditions, FieldChange, TrustedIssuerSpec } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import canonicalize from 'canonicalize';
import { recordAudit } from '../audit/record-audit.js';
import type { PersonCaller } from '../changes/caller.js';
import type { ChangeTeam, Transaction } from '../changes/team-changes.js';
import { findAccount, requireAdminNow } from './store.js';
import type { IssuerStore, IssuerTransaction, TrustedIssuerRecord } from './trusted-issuers.js';

/** The issuers that a team trusts. */
export const trustedIssuerStore = (prisma: Prisma, changeTeam: ChangeTeam): IssuerStore => ({
  async list({ id: teamId }) {
    const rows = await prisma.trustedIssuer.findMany({ where: { teamId }, orderBy: { name: 'asc' }, include });
    return rows.map(issuerOf);
  },

  find: ({ id }, name) => findIssuer(prisma, id, name),

  change: (caller, work) =>
    changeTeam(caller, async (tx, now) => {
      await requireAdminNow(tx, caller);
      return work(transactionOf(tx, caller, now));
    }),
});

const include = { account: { select: { name: true } } } as const;

async function findIssuer(
  db: Pick<Transaction, 'trustedIssuer'>,
  teamId: string,
  name: string,
): Promise<TrustedIssuerRecord | null> {
  const row = await db.trustedIssuer.findUnique({ where: { teamId_name: { teamId, name } }, include });
  return row && issuerOf(row);
}

interface IssuerRow {
  readonly id: string;
  readonly name: string;
  readonly issuer: string;
  readonly audience: string;
  readonly claims: unknown;
  readonly account: { readonly name: string };
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const issuerOf = ({ id, name, issuer, audience, claims, account, createdAt, updatedAt }: IssuerRow) => ({
  id,
  name,
  spec: { issuer, audience, claims: claims as ClaimConditions, serviceAccount: account.name },
  createdAt,
  updatedAt,
});

function transactionOf(tx: Transaction, caller: PersonCaller, now: Date): IssuerTransaction {
  const teamId = caller.team.id;
  const { userId: createdById } = caller;
  const audit = (
    action: AuditAction,
    { id, name }: Pick<TrustedIssuerRecord, 'id' | 'name'>,
    changes?: readonly FieldChange[],
  ) => recordAudit(tx, caller, { action, target: { kind: 'TrustedIssuer', id, name }, ...(changes && { changes }) });
  return {
    find: (name) => findIssuer(tx, teamId, name),
    count: () => tx.trustedIssuer.count({ where: { teamId } }),
    findAccount: (name) => findAccount(tx, teamId, name),

    async save(name, spec, account) {
      const present = await findIssuer(tx, teamId, name);
      const changes = changesOf(present?.spec ?? null, spec);
      if (present !== null && changes.length === 0) return present;
      const { issuer, audience, claims } = spec;
      const columns = { issuer, audience, claims: { ...claims }, accountId: account.id, updatedAt: now };
      const saved = await tx.trustedIssuer.upsert({
        where: { teamId_name: { teamId, name } },
        create: { teamId, name, createdById, createdAt: now, ...columns },
        update: columns,
        include,
      });
      await tx.serviceAccountToken.deleteMany({ where: { teamId, issuerId: saved.id } });
      const action = present === null ? 'service_account.trust_issuer' : 'service_account.change_issuer';
      await audit(action, saved, changes);
      return issuerOf(saved);
    },

    async remove(issuer) {
      await tx.trustedIssuer.delete({ where: { id: issuer.id, teamId }, select: { id: true } });
      await audit('service_account.distrust_issuer', issuer);
    },
  };
}

function changesOf(from: TrustedIssuerSpec | null, to: TrustedIssuerSpec): FieldChange[] {
  return (['issuer', 'audience', 'claims', 'serviceAccount'] as const)
    .map((field) => ({ pointer: `/spec/${field}`, from: from?.[field] ?? null, to: to[field] }))
    .filter((change) => canonicalize(change.from) !== canonicalize(change.to));
}
