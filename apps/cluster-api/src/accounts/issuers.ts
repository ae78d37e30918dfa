import { clusterLimits, pointerPart, type TrustedIssuerSpec, textRules } from '@corral/contracts';
import { changesOf, recordAudit } from '../audit/record-audit.js';
import type { PersonCaller } from '../changes/caller.js';
import type { ChangeTeam } from '../changes/team-changes.js';
import { found, invalidField, Problem } from '../problem.js';
import type { IssuerCalls } from '../token-exchange/issuer-calls.js';
import { faultOfConditions } from './claim-conditions.js';
import {
  countIssuers,
  deleteIssuer,
  findAccount,
  findIssuer,
  requireAdminNow,
  saveIssuer,
  type TrustedIssuerRecord,
} from './store.js';

/**
 * Trusts an issuer or changes its conditions.
 *
 * @throws Problem `validation_failed`, `quota_exceeded`, `not_found`, `permission_denied`
 */
export async function putIssuer(
  changeTeam: ChangeTeam,
  calls: IssuerCalls,
  caller: PersonCaller,
  name: string,
  spec: TrustedIssuerSpec,
): Promise<{ readonly issuer: TrustedIssuerRecord; readonly isNew: boolean }> {
  checkSpec(spec, calls);
  return changeTeam(caller, async (tx, now) => {
    const teamId = caller.team.id;
    await requireAdminNow(tx, caller);
    const present = await findIssuer(tx, teamId, name);
    if (present === null && (await countIssuers(tx, teamId)) >= clusterLimits.trustedIssuersPerTeam) {
      const detail = `The team trusts ${clusterLimits.trustedIssuersPerTeam} issuers. Delete one first.`;
      throw new Problem('quota_exceeded', detail);
    }
    const account = await findAccount(tx, teamId, spec.serviceAccount);
    if (account === null) {
      throw invalidField('validation_failed', '/spec/serviceAccount', 'must name a service account of the team');
    }
    const changes = changesOf(present && partsOf(present.spec), partsOf(spec));
    if (present !== null && changes.length === 0) return { issuer: present, isNew: false };
    const issuer = await saveIssuer(tx, caller, name, spec, account.id, now);
    const action = present === null ? 'service_account.trust_issuer' : 'service_account.change_issuer';
    await recordAudit(tx, caller, { action, target: targetOf(issuer), changes });
    return { issuer, isNew: present === null };
  });
}

/** @throws Problem `not_found`, `permission_denied` */
export const removeIssuer = (changeTeam: ChangeTeam, caller: PersonCaller, name: string): Promise<void> =>
  changeTeam(caller, async (tx) => {
    await requireAdminNow(tx, caller);
    const issuer = found(await findIssuer(tx, caller.team.id, name));
    await deleteIssuer(tx, caller.team.id, issuer.id);
    await recordAudit(tx, caller, { action: 'service_account.distrust_issuer', target: targetOf(issuer) });
  });

const partsOf = ({ issuer, audience, claims, serviceAccount }: TrustedIssuerSpec) => ({
  '/spec/issuer': issuer,
  '/spec/audience': audience,
  '/spec/claims': claims,
  '/spec/serviceAccount': serviceAccount,
});

const targetOf = ({ id, name }: TrustedIssuerRecord) => ({ kind: 'TrustedIssuer', id, name });

/** @throws Problem `validation_failed` */
function checkSpec({ issuer, claims }: TrustedIssuerSpec, calls: IssuerCalls): void {
  const refusal = URL.canParse(issuer) ? calls.refusalOfUrl(new URL(issuer)) : textRules.issuerUrl.must;
  if (refusal !== null) throw invalidField('validation_failed', '/spec/issuer', refusal);
  const fault = faultOfConditions(issuer, claims);
  if (fault !== null) {
    throw invalidField('validation_failed', `/spec/claims/${pointerPart(fault.name)}`, fault.message);
  }
}
