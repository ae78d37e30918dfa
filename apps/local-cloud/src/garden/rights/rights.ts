import { type AccountName, accountNames, accounts, type Rule } from './accounts.js';

/** Who may do what, as role-based access control decides it. */
export class Rights {
  readonly #rules = new Map<AccountName, readonly Rule[]>();

  /** @param resource with its subresource, e.g. `shoots/adminkubeconfig` */
  allows(account: AccountName, verb: string, group: string, resource: string): boolean {
    return this.of(account).some(
      ({ apiGroups, resources, verbs }) =>
        apiGroups.includes(group) && resources.includes(resource) && verbs.includes(verb),
    );
  }

  of(account: AccountName): readonly Rule[] {
    if (!accountNames.includes(account)) throw new Error(`There is no account ${account}.`);
    return this.#rules.get(account) ?? accounts[account].rules;
  }

  /** @param rules null brings the documented ones back. @throws Error when they are none */
  set(account: AccountName, rules: readonly Rule[] | null): void {
    this.of(account);
    if (rules === null) {
      this.#rules.delete(account);
      return;
    }
    const isList = (value: unknown): boolean => Array.isArray(value) && value.every((each) => typeof each === 'string');
    const areRules =
      Array.isArray(rules) &&
      rules.every(({ apiGroups, resources, verbs }) => [apiGroups, resources, verbs].every(isList));
    if (!areRules) throw new Error('`rules` is a list of {apiGroups, resources, verbs}, each a list of texts.');
    this.#rules.set(account, rules);
  }
}
