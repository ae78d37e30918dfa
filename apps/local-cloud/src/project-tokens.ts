/** What the provider says to the token of a project. */
export type TokenState = 'known' | 'read-only' | 'unknown';

export interface ProjectToken {
  readonly token: string;
  /** The token may read and not write. */
  readonly readOnly: boolean;
}

/** The tokens of cloud projects. They can be added and taken away while the cloud runs. */
export class ProjectTokens {
  readonly #tokens = new Map<string, ProjectToken>();

  constructor(tokens: Iterable<string>) {
    for (const token of tokens) this.add(token);
  }

  add(token: string, { readOnly = false }: { readOnly?: boolean } = {}): void {
    this.#tokens.set(token, { token, readOnly });
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
