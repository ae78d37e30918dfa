/** What the only client that adopts a server knows about it from the answers it got. */
export type ServerBelief =
  /** `wasAdopted`: before it was detached. */
  | { readonly kind: 'free'; readonly wasAdopted: boolean }
  | { readonly kind: 'adopted'; readonly operationId: string | null }
  /** The deregistration of the server was accepted. */
  | { readonly kind: 'leaving' };

export type ServerWish = 'adopt' | 'deregister';

export interface ServerAnswer {
  readonly status: number;
  /** From 2 on, an earlier copy of the request may have been accepted without an answer. */
  readonly tries: number;
  readonly operationId: string | null;
}

/** `problem`: the answer contradicts the earlier answers. */
export type ServerLearned = { readonly belief: ServerBelief; readonly problem?: string };

/** The client waits for each answer before its next request. Adoptions carry a key, so that their copies are one request. */
export function learnOfServer(before: ServerBelief, wish: ServerWish, answer: ServerAnswer): ServerLearned {
  const contradiction = (why: string): ServerLearned => ({
    belief: before,
    problem: `was ${before.kind}, ${wish} was answered ${answer.status}: ${why}`,
  });
  const learned = wish === 'adopt' ? learnOfAdoption(before, answer) : learnOfDeregistration(before, answer);
  return typeof learned === 'string' ? contradiction(learned) : { belief: learned };
}

/** @returns why the answer is impossible */
function learnOfAdoption(before: ServerBelief, { status, operationId }: ServerAnswer): ServerBelief | string {
  if (status === 202) {
    const isAnother = before.kind === 'adopted' && before.operationId !== operationId;
    return isAnother ? 'the same acknowledgement became another operation' : { kind: 'adopted', operationId };
  }
  if (status !== 409) return 'it may be adopted, or a pool holds it';
  return before.kind === 'free' ? 'it was free' : before;
}

/** @returns why the answer is impossible */
function learnOfDeregistration(before: ServerBelief, { status, tries }: ServerAnswer): ServerBelief | string {
  if (status === 204) return before.kind === 'free' ? 'there was nothing to detach' : { kind: 'leaving' };
  if (status !== 404) return 'no node pool draws on it';
  if (before.kind === 'adopted' && tries === 1) return 'it was there';
  return before.kind === 'free' ? before : { kind: 'free', wasAdopted: true };
}
