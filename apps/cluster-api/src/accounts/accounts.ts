import { hashAccountToken, mintAccountToken } from '@corral/auth';
import {
  canNarrowTo,
  clusterLimits,
  noNarrowing,
  type ServiceAccountSpec,
  type ServiceAccountSpecInput,
} from '@corral/contracts';
import { changesOf, recordAudit } from '../audit/record-audit.js';
import type { PersonCaller } from '../changes/caller.js';
import type { ChangeTeam } from '../changes/team-changes.js';
import { found, invalidField, Problem } from '../problem.js';
import {
  type AccountRecord,
  countAccounts,
  countActiveTokens,
  deleteAccount,
  deleteEndedTokens,
  findAccount,
  insertToken,
  requireAdminNow,
  revokeAccountToken,
  saveAccount,
} from './store.js';

/* The changes of service accounts and of the tokens that people create for them. */

const DAY_MS = 86_400_000;

/**
 * Creates an account or changes it. Its tokens follow the change with their next request. A narrowing that is left out stays:
 * nobody widens an account by silence.
 *
 * @throws Problem `validation_failed`, `quota_exceeded`, `not_found`, `permission_denied`
 */
export const putAccount = (
  changeTeam: ChangeTeam,
  caller: PersonCaller,
  name: string,
  { role, narrowing }: ServiceAccountSpecInput,
): Promise<{ readonly account: AccountRecord; readonly isNew: boolean }> =>
  changeTeam(caller, async (tx, now) => {
    const { id: teamId, slug } = caller.team;
    const within = narrowing?.dns?.withinName;
    if (within != null && !canNarrowTo(within, slug)) {
      const must = `must be "${slug}" or a name below it`;
      throw invalidField('validation_failed', '/spec/narrowing/dns/withinName', must);
    }
    await requireAdminNow(tx, caller);
    const present = await findAccount(tx, teamId, name);
    if (present === null && (await countAccounts(tx, teamId)) >= clusterLimits.serviceAccountsPerTeam) {
      const detail = `The team has ${clusterLimits.serviceAccountsPerTeam} service accounts. Delete one first.`;
      throw new Problem('quota_exceeded', detail);
    }
    const before = present?.spec.narrowing ?? noNarrowing;
    const spec = { role, narrowing: { ...before, ...narrowing, dns: { ...before.dns, ...narrowing?.dns } } };
    const changes = changesOf(present && partsOf(present.spec), partsOf(spec));
    if (present !== null && changes.length === 0) return { account: present, isNew: false };
    const account = await saveAccount(tx, caller, name, spec, now);
    const action = present === null ? 'service_account.create' : 'service_account.change';
    await recordAudit(tx, caller, { action, target: targetOf(account), changes });
    return { account, isNew: present === null };
  });

/**
 * Deletes an account, with its tokens and trusted issuers.
 *
 * @throws Problem `not_found`, `permission_denied`
 */
export const removeAccount = (changeTeam: ChangeTeam, caller: PersonCaller, name: string): Promise<void> =>
  changeTeam(caller, async (tx) => {
    await requireAdminNow(tx, caller);
    const account = found(await findAccount(tx, caller.team.id, name));
    await deleteAccount(tx, caller.team.id, account.id);
    await recordAudit(tx, caller, { action: 'service_account.delete', target: targetOf(account) });
  });

export interface NewToken {
  readonly id: string;
  /** The only place where the text is available. */
  readonly token: string;
  readonly expiresAt: Date;
}

/** @throws Problem `not_found`, `quota_exceeded`, `permission_denied` */
export const issueAccountToken = (
  changeTeam: ChangeTeam,
  caller: PersonCaller,
  name: string,
  expiresInDays: number,
): Promise<NewToken> =>
  changeTeam(caller, async (tx, now) => {
    await requireAdminNow(tx, caller);
    const account = found(await findAccount(tx, caller.team.id, name));
    if ((await countActiveTokens(tx, caller.team.id, account.id, now)) >= clusterLimits.accountTokensActive) {
      const detail = `The account has ${clusterLimits.accountTokensActive} active tokens. Revoke one first.`;
      throw new Problem('quota_exceeded', detail);
    }
    await deleteEndedTokens(tx, caller.team.id, account.id, now);
    const token = mintAccountToken();
    const expiresAt = new Date(now.getTime() + expiresInDays * DAY_MS);
    const id = await insertToken(tx, caller, account.id, hashAccountToken(token), { createdAt: now, expiresAt });
    await recordAudit(tx, caller, {
      action: 'service_account.create_token',
      target: targetOf(account),
      detail: { tokenId: id, expiresAt: expiresAt.toISOString() },
    });
    return { id, token, expiresAt };
  });

/**
 * Revokes a token. Revoking it again changes nothing.
 *
 * @throws Problem `not_found`, `permission_denied`
 */
export const revokeToken = (changeTeam: ChangeTeam, caller: PersonCaller, name: string, id: string): Promise<void> =>
  changeTeam(caller, async (tx, now) => {
    await requireAdminNow(tx, caller);
    const account = found(await findAccount(tx, caller.team.id, name));
    const isRevoked = found(await revokeAccountToken(tx, caller.team.id, account.id, id, now));
    const action = 'service_account.revoke_token';
    if (isRevoked) await recordAudit(tx, caller, { action, target: targetOf(account), detail: { tokenId: id } });
  });

const partsOf = ({ role, narrowing }: ServiceAccountSpec) => ({
  '/spec/role': role,
  '/spec/narrowing/clusters': narrowing.clusters,
  '/spec/narrowing/actions': narrowing.actions,
  '/spec/narrowing/dns/withinName': narrowing.dns.withinName,
  '/spec/narrowing/dns/withinTypes': narrowing.dns.withinTypes,
});

const targetOf = ({ id, name }: AccountRecord) => ({ kind: 'ServiceAccount', id, name });
