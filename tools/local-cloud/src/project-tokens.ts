import { createHash } from 'node:crypto';

/** State of a project token at the provider. */
export type TokenState = 'known' | 'read-only' | 'unknown';

export interface TokenOptions {
  readonly readOnly?: boolean;
  /** Another token of the project. */
  readonly sameProjectAs?: string;
}

/** The tokens of cloud projects. Tokens can be added and removed at run time. */
export class ProjectTokens {
  readonly #states = new Map<string, Exclude<TokenState, 'unknown'>>();
  /** Projects of tokens that share one. Never removed: servers stay in their project after the token is rejected. */
  readonly #shared = new Map<string, string>();

  constructor(tokens: Iterable<string>) {
    for (const token of tokens) this.add(token);
  }

  add(token: string, { readOnly = false, sameProjectAs }: TokenOptions = {}): void {
    if (sameProjectAs !== undefined) this.#shared.set(token, this.projectOf(sameProjectAs));
    this.#states.set(token, readOnly ? 'read-only' : 'known');
  }

  /** Stable for a token, so that its servers are found again after a restart. */
  projectOf(token: string): string {
    return this.#shared.get(token) ?? createHash('sha256').update(token).digest('hex').slice(0, 16);
  }

  reject(token: string): void {
    this.#states.delete(token);
  }

  stateOf(token: string): TokenState {
    return this.#states.get(token) ?? 'unknown';
  }
}
