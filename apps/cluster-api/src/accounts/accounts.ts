import type { CreatorRow } from '@corral/cluster-data';
import { clusterLimits, noNarrowing, type ServiceAccountSpec, type ServiceAccountSpecInput } from '@corral/contracts';
import type { PersonCaller } from '../changes/caller.js';
import { notFound, Problem } from '../problem.js';

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

export interface NewToken {
  readonly id: string;
  /** The only place where the text is available. */
  readonly token: string;
  readonly expiresAt: Date;
}

/** Changes of one team's service accounts. The team's changes are serialized. */
export interface AccountTransaction {
  readonly now: Date;
  find(name: string): Promise<AccountRecord | null>;
  count(): Promise<number>;
  /** Creates the account, or replaces its specification. */
  save(name: string, spec: ServiceAccountSpec): Promise<AccountRecord>;
  /** Its tokens and trusted issuers go with it. */
  remove(account: AccountRecord): Promise<void>;
  countActiveTokens(account: AccountRecord): Promise<number>;
  /** Also deletes the oldest tokens that ended. */
  issueToken(account: AccountRecord, expiresAt: Date): Promise<NewToken>;
  /** @returns false when the account has no such token. Revoking again changes nothing */
  revokeToken(account: AccountRecord, id: string): Promise<boolean>;
}

export interface AccountStore {
  /** By name. */
  list(team: PersonCaller['team']): Promise<AccountRecord[]>;
  find(team: PersonCaller['team'], name: string): Promise<AccountRecord | null>;
  /** Newest first. */
  listTokens(account: AccountRecord): Promise<AccountTokenRecord[]>;
  /** @throws Problem `not_found`, `permission_denied` when the caller is no longer an administrator */
  change<T>(caller: PersonCaller, work: (tx: AccountTransaction) => Promise<T>): Promise<T>;
}

const DAY_MS = 86_400_000;

export type AccountService = ReturnType<typeof accountService>;

export const accountService = ({ store }: { readonly store: Pick<AccountStore, 'change'> }) => ({
  /**
   * Creates an account or changes it. Its tokens follow the change with their next request. A narrowing that is left out stays:
   * nobody widens an account by silence.
   *
   * @throws Problem `quota_exceeded`
   */
  put: (caller: PersonCaller, name: string, { role, narrowing }: ServiceAccountSpecInput) =>
    store.change(caller, async (tx) => {
      const present = await tx.find(name);
      if (present === null && (await tx.count()) >= clusterLimits.serviceAccountsPerTeam) {
        const detail = `The team has ${clusterLimits.serviceAccountsPerTeam} service accounts. Delete one first.`;
        throw new Problem('quota_exceeded', detail);
      }
      const spec = { role, narrowing: { ...(present?.spec.narrowing ?? noNarrowing), ...narrowing } };
      return { account: await tx.save(name, spec), isNew: present === null };
    }),

  /** @throws Problem `not_found` */
  remove: (caller: PersonCaller, name: string): Promise<void> =>
    store.change(caller, async (tx) => tx.remove(found(await tx.find(name)))),

  /** @throws Problem `not_found`, `quota_exceeded` */
  issueToken: (caller: PersonCaller, name: string, expiresInDays: number): Promise<NewToken> =>
    store.change(caller, async (tx) => {
      const account = found(await tx.find(name));
      if ((await tx.countActiveTokens(account)) >= clusterLimits.accountTokensActive) {
        const detail = `The account has ${clusterLimits.accountTokensActive} active tokens. Revoke one first.`;
        throw new Problem('quota_exceeded', detail);
      }
      return tx.issueToken(account, new Date(tx.now.getTime() + expiresInDays * DAY_MS));
    }),

  /** @throws Problem `not_found` */
  revokeToken: (caller: PersonCaller, name: string, id: string): Promise<void> =>
    store.change(caller, async (tx) => {
      if (!(await tx.revokeToken(found(await tx.find(name)), id))) throw notFound();
    }),
});

/** @throws Problem `not_found` */
export function found<T>(record: T | null): T {
  if (record === null) throw notFound();
  return record;
}
