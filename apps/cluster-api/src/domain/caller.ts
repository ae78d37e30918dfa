import type { Role } from '@corral/contracts';

/** One request. */
export interface Asking {
  /** For audit entries and problems. */
  readonly requestId: string;
  /** Aborts when whoever asks has gone away, and nobody waits for the answer. */
  readonly gone: AbortSignal;
  /** Does not count it as work in flight while it waits for what has bounds of its own. @returns counts it again */
  readonly setAside: () => () => void;
}

/** Asks elsewhere on behalf of a request, which is not counted as work in flight until the answer is there. */
export async function awaited<T>({ setAside }: Pick<Asking, 'setAside'>, ask: () => Promise<T>): Promise<T> {
  const goOn = setAside();
  try {
    return await ask();
  } finally {
    goOn();
  }
}

/** Who asks, and in which team. Every store function takes the team from here, and every query has it in its WHERE. */
export interface Caller extends Asking {
  readonly userId: string;
  readonly team: { readonly id: string; readonly slug: string };
  readonly role: Role;
}
