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
  readonly rules: readonly Rule[];
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
    'technical-user': { userName: 'system:serviceaccount:garden:technical-user', rules: [everything] },
    'cluster-api': accountIn('cluster-api.yaml'),
    reconciler: accountIn('reconciler.yaml'),
  };
  readonly #changed = new Map<AccountName, readonly Rule[]>();

  userName(account: AccountName): string {
    return this.#accounts[account].userName;
  }

  /** @param resource with its subresource, for example `shoots/adminkubeconfig` */
  allows(account: AccountName, verb: string, group: string, resource: string): boolean {
    const has = (granted: readonly string[], wanted: string) => granted.includes('*') || granted.includes(wanted);
    return this.of(account).some(
      (rule) => has(rule.apiGroups, group) && has(rule.resources, resource) && has(rule.verbs, verb),
    );
  }

  of(account: AccountName): readonly Rule[] {
    return this.#changed.get(account) ?? this.#accounts[account].rules;
  }

  /** @param rules null restores those of the manifest */
  set(account: AccountName, rules: readonly Rule[] | null): void {
    if (rules === null) this.#changed.delete(account);
    else this.#changed.set(account, rules);
  }
}
