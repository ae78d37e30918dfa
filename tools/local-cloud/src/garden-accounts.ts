import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';

/** A rule of a ClusterRole. A subresource is written `shoots/adminkubeconfig`. */
export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

export const accountNames = ['technical-user', 'cluster-api', 'reconciler'] as const;
export type AccountName = (typeof accountNames)[number];

interface Account {
  /** User name as the API server shows it. */
  readonly userName: string;
  /** Null for an account that may do everything. */
  readonly rules: readonly Rule[] | null;
}

/** The manifests, as far up from this file as from the bundled program. */
const MANIFESTS = new URL('../../../infra/garden/', import.meta.url);

function accountIn(file: string): Account {
  const documents = parseAllDocuments(readFileSync(new URL(file, MANIFESTS), 'utf8')).map((each) => each.toJS());
  const { metadata } = documents.find(({ kind }) => kind === 'ServiceAccount');
  const { rules } = documents.find(({ kind }) => kind === 'ClusterRole');
  return { userName: `system:serviceaccount:${metadata.namespace}:${metadata.name}`, rules };
}

const everything: Rule = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] };

/** Role-based access control of the accounts. Those of the services have the rights that their manifests grant. */
export class Rights {
  readonly #accounts: Readonly<Record<AccountName, Account>> = {
    'technical-user': { userName: 'system:serviceaccount:garden:technical-user', rules: null },
    'cluster-api': accountIn('cluster-api.yaml'),
    reconciler: accountIn('reconciler.yaml'),
  };
  readonly #changed = new Map<AccountName, readonly Rule[]>();

  userName(account: AccountName): string {
    return this.#accounts[account].userName;
  }

  /** @param resource with its subresource, for example `shoots/adminkubeconfig` */
  allows(account: AccountName, verb: string, group: string, resource: string): boolean {
    const rules = this.#changed.get(account) ?? this.#accounts[account].rules;
    return (
      rules === null ||
      rules.some(
        (rule) => rule.apiGroups.includes(group) && rule.resources.includes(resource) && rule.verbs.includes(verb),
      )
    );
  }

  of(account: AccountName): readonly Rule[] {
    return this.#changed.get(account) ?? this.#accounts[account].rules ?? [everything];
  }

  /** @param rules null restores those of the manifest */
  set(account: AccountName, rules: readonly Rule[] | null): void {
    if (rules === null) this.#changed.delete(account);
    else this.#changed.set(account, rules);
  }
}
