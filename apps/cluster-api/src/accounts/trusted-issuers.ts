import { clusterLimits, type TrustedIssuerSpec, textRules } from '@corral/contracts';
import type { PersonCaller } from '../changes/caller.js';
import { invalidField, Problem } from '../problem.js';
import { type AccountRecord, found } from './accounts.js';
import { faultOfConditions } from './claim-conditions.js';

export interface TrustedIssuerRecord {
  readonly id: string;
  readonly name: string;
  readonly spec: TrustedIssuerSpec;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Changes of one team's trusted issuers. The team's changes are serialized. */
export interface IssuerTransaction {
  find(name: string): Promise<TrustedIssuerRecord | null>;
  count(): Promise<number>;
  findAccount(name: string): Promise<AccountRecord | null>;
  /** Creates the issuer, or replaces its specification and ends its tokens. */
  save(name: string, spec: TrustedIssuerSpec, account: AccountRecord): Promise<TrustedIssuerRecord>;
  /** Its tokens go with it. */
  remove(issuer: TrustedIssuerRecord): Promise<void>;
}

export interface IssuerStore {
  /** By name. */
  list(team: PersonCaller['team']): Promise<TrustedIssuerRecord[]>;
  find(team: PersonCaller['team'], name: string): Promise<TrustedIssuerRecord | null>;
  /** @throws Problem `not_found`, `permission_denied` when the caller is no longer an administrator */
  change<T>(caller: PersonCaller, work: (tx: IssuerTransaction) => Promise<T>): Promise<T>;
}

export interface IssuerServiceDeps {
  readonly store: Pick<IssuerStore, 'change'>;
  /** Why no call may go to a URL; null when it may. Continues a sentence after the name of the field. */
  readonly refusalOfUrl: (url: URL) => string | null;
}

export type IssuerService = ReturnType<typeof issuerService>;

export const issuerService = ({ store, refusalOfUrl }: IssuerServiceDeps) => ({
  /**
   * Trusts an issuer or changes its conditions.
   *
   * @throws Problem `validation_failed`, `quota_exceeded`
   */
  put(caller: PersonCaller, name: string, spec: TrustedIssuerSpec) {
    checkSpec(spec, refusalOfUrl);
    return store.change(caller, async (tx) => {
      const present = await tx.find(name);
      if (present === null && (await tx.count()) >= clusterLimits.trustedIssuersPerTeam) {
        const detail = `The team trusts ${clusterLimits.trustedIssuersPerTeam} issuers. Delete one first.`;
        throw new Problem('quota_exceeded', detail);
      }
      const account = await tx.findAccount(spec.serviceAccount);
      if (account === null) {
        throw invalidField('validation_failed', '/spec/serviceAccount', 'must name a service account of the team');
      }
      return { issuer: await tx.save(name, spec, account), isNew: present === null };
    });
  },

  /** @throws Problem `not_found` */
  remove: (caller: PersonCaller, name: string): Promise<void> =>
    store.change(caller, async (tx) => tx.remove(found(await tx.find(name)))),
});

/** @throws Problem `validation_failed` */
function checkSpec({ issuer, claims }: TrustedIssuerSpec, refusalOfUrl: IssuerServiceDeps['refusalOfUrl']): void {
  const refusal = URL.canParse(issuer) ? refusalOfUrl(new URL(issuer)) : textRules.issuerUrl.must;
  if (refusal !== null) throw invalidField('validation_failed', '/spec/issuer', refusal);
  const fault = faultOfConditions(issuer, claims);
  if (fault !== null) {
    const pointer = fault.name.replaceAll('~', '~0').replaceAll('/', '~1');
    throw invalidField('validation_failed', `/spec/claims/${pointer}`, fault.message);
  }
}
