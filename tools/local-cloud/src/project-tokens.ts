import { createHash } from 'node:crypto';

/** What a project token may do at the provider. */
export type TokenState = 'known' | 'read-only' | 'unknown';

/** The tokens of cloud projects, one for each. Tokens can be added at run time. */
export class ProjectTokens {
  readonly #states = new Map<string, TokenState>();

  constructor(tokens: Iterable<string>) {
    for (const token of tokens) this.set(token, 'known');
  }

  set(token: string, state: TokenState): void {
    this.#states.set(token, state);
  }

  stateOf(token: string): TokenState {
    return this.#states.get(token) ?? 'unknown';
  }

  /** Stable for a token, so that its servers are found again after a restart. */
  projectOf(token: string): string {
    return createHash('sha256').update(token).digest('hex').slice(0, 16);
  }
}
