import { createHash } from 'node:crypto';

/** The tokens of cloud projects, one for each. Tokens can be added at run time. */
export class ProjectTokens {
  readonly #known: Set<string>;

  constructor(tokens: Iterable<string>) {
    this.#known = new Set(tokens);
  }

  add(token: string): void {
    this.#known.add(token);
  }

  has(token: string): boolean {
    return this.#known.has(token);
  }

  /** Stable for a token, so that its servers are found again after a restart. */
  projectOf(token: string): string {
    return createHash('sha256').update(token).digest('hex').slice(0, 16);
  }
}
