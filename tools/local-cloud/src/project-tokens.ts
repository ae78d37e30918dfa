import { createHash } from 'node:crypto';

/** State of a project token at the provider. */
export type TokenState = 'known' | 'read-only' | 'unknown';

export interface TokenOptions {
  readonly readOnly?: boolean;
}

/** The tokens of cloud projects, one for each. Tokens can be added at run time. */
export class ProjectTokens {
  readonly #states = new Map<string, Exclude<TokenState, 'unknown'>>();

  constructor(tokens: Iterable<string>) {
    for (const token of tokens) this.add(token);
  }

  add(token: string, { readOnly = false }: TokenOptions = {}): void {
    this.#states.set(token, readOnly ? 'read-only' : 'known');
  }

  /** Stable for a token, so that its servers are found again after a restart. */
  projectOf(token: string): string {
    return createHash('sha256').update(token).digest('hex').slice(0, 16);
  }

  stateOf(token: string): TokenState {
    return this.#states.get(token) ?? 'unknown';
  }
}
