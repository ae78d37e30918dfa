import { createHash } from 'node:crypto';

/** What the provider says to the token of a project. */
export type TokenState = 'known' | 'read-only' | 'unknown';

export interface ProjectToken {
  readonly token: string;
  /** The token may read and not write. */
  readonly readOnly: boolean;
  /** That it opens. Each token has one of its own unless it is said to share that of another. */
  readonly project: string;
}

export interface TokenOptions {
  readonly readOnly?: boolean;
  /** Another token of the project. */
  readonly sameProjectAs?: string;
}

/** The tokens of cloud projects. They can be added and taken away while the cloud runs. */
export class ProjectTokens {
  readonly #tokens = new Map<string, ProjectToken>();
  /** Of tokens that share one, for ever: what was made with a token does not move when it ends. */
  readonly #shared = new Map<string, string>();

  constructor(tokens: Iterable<string>) {
    for (const token of tokens) this.add(token);
  }

  add(token: string, { readOnly = false, sameProjectAs }: TokenOptions = {}): void {
    const project = this.projectOf(sameProjectAs ?? token);
    if (sameProjectAs !== undefined) this.#shared.set(token, project);
    this.#tokens.set(token, { token, readOnly, project });
  }

  /** The same for a token at any time, so that its servers are there again after a restart. */
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
