import { createHash } from 'node:crypto';

/** State of a project token at the provider. */
export type TokenState = 'known' | 'read-only' | 'unknown';

export interface ProjectToken {
  readonly token: string;
  /** The token may read but not write. */
  readonly readOnly: boolean;
  /** Project of the token. Each token has a separate project unless it shares that of another. */
  readonly project: string;
}

export interface TokenOptions {
  readonly readOnly?: boolean;
  /** Another token of the project. */
  readonly sameProjectAs?: string;
}

/** The tokens of cloud projects. Tokens can be added and removed at run time. */
export class ProjectTokens {
  readonly #tokens = new Map<string, ProjectToken>();
  /** Projects of tokens that share one. Never removed: servers stay in their project after the token is rejected. */
  readonly #shared = new Map<string, string>();

  constructor(tokens: Iterable<string>) {
    for (const token of tokens) this.add(token);
  }

  add(token: string, { readOnly = false, sameProjectAs }: TokenOptions = {}): void {
    const project = this.projectOf(sameProjectAs ?? token);
    if (sameProjectAs !== undefined) this.#shared.set(token, project);
    this.#tokens.set(token, { token, readOnly, project });
  }

  /** Stable for a token, so that its servers are found again after a restart. */
  projectOf(token: string): string {
    return this.#shared.get(token) ?? createHash('sha256').update(token).digest('hex').slice(0, 16);
  }

  reject(token: string): void {
    this.#tokens.delete(token);
  }

  list(): ProjectToken[] {
    return [...this.#tokens.values()];
  }

  stateOf(token: string): TokenState {
    const known = this.#tokens.get(token);
    if (known === undefined) return 'unknown';
    return known.readOnly ? 'read-only' : 'known';
  }
}
