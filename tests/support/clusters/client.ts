import { setTimeout as pause } from 'node:timers/promises';
import { type Cluster, isOpenOperation, type Operation } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { type Answer, isTimeout, UndocumentedAnswer } from '../clients/answer.js';
import { type ClusterCall, callClusterApi } from './call-api.js';

/** The path below that of the team. */
export type TeamCall = ClusterCall;

export interface InsistentAnswer extends Answer {
  /** How often the request was sent. From 2 on, an earlier one may have been accepted without an answer. */
  readonly tries: number;
}

export interface TeamClient {
  readonly team: string;
  /** How many requests that were sent until they were answered have got their answer. */
  answers(): number;
  /** Sends one request once. @throws Error if there is no answer */
  send(call: TeamCall): Promise<Answer>;
  /** Repeats the same request until there is an answer other than 502 and 503, as a good client does. */
  insist(call: TeamCall, options?: { timeoutMs?: number }): Promise<InsistentAnswer>;
  /** @returns null if there is none with this name */
  findCluster(name: string): Promise<Cluster | null>;
  /** @throws Error with the last state of the operation if it does not end in time */
  untilEnded(operationId: string, options?: { timeoutMs?: number }): Promise<Operation>;
}

const RETRY_MS = 100;
/** A busy machine on which everything is killed again and again may need minutes for one change. */
const ENDED_WITHIN_MS = 240_000;

/** Signs the person in, as developers do. @returns the header `Cookie` for their requests */
export async function signIn(base: string, email: string): Promise<string> {
  const signingIn: ClusterCall = { method: 'POST', path: '/auth/dev-login/', body: { email } };
  const answer = await untilAnswered(() => callClusterApi(base, signingIn), {
    what: 'The sign-in',
    timeoutMs: ENDED_WITHIN_MS,
  });
  const cookie = answer.headers.get('set-cookie')?.split(';')[0];
  if (answer.status !== 200 || cookie === undefined) throw new Error(`The sign-in failed: ${answer.text}`);
  return cookie;
}

export interface TeamClientOptions {
  /** The addresses of the replicas, which requests use in turn. */
  readonly bases: readonly string[];
  readonly team: string;
  readonly cookie: string;
}

export function teamClient({ bases, team, cookie }: TeamClientOptions): TeamClient {
  let turn = 0;
  const send = (call: TeamCall): Promise<Answer> => {
    turn += 1;
    return callClusterApi(bases[turn % bases.length] as string, {
      ...call,
      path: `/api/v1/teams/${team}${call.path}`,
      headers: { cookie, ...call.headers },
    });
  };
  let answers = 0;
  const insist: TeamClient['insist'] = async (call, { timeoutMs = ENDED_WITHIN_MS } = {}) => {
    const answer = await untilAnswered(() => send(call), { what: `${call.method} ${call.path}`, timeoutMs });
    answers += 1;
    return answer;
  };
  return {
    team,
    send,
    insist,
    answers: () => answers,
    async findCluster(name) {
      const answer = await insist({ method: 'GET', path: `/clusters/${name}/` });
      return answer.status === 404 ? null : (answer.json as Cluster);
    },
    untilEnded: (operationId, { timeoutMs = ENDED_WITHIN_MS } = {}) =>
      waitFor(
        `operation ${operationId} to end`,
        async () => {
          const { json } = await insist({ method: 'GET', path: `/operations/${operationId}/` });
          if (isOpenOperation(json)) throw new Error(JSON.stringify(json));
          return json as Operation;
        },
        { timeoutMs },
      ),
  };
}

/**
 * Repeats a request until there is an answer other than 502 and 503.
 *
 * @param what completes the sentence "… was not done"
 */
export async function untilAnswered(
  send: () => Promise<Answer>,
  { what, timeoutMs }: { readonly what: string; readonly timeoutMs: number },
): Promise<InsistentAnswer> {
  const deadline = performance.now() + timeoutMs;
  for (let tries = 1; ; tries += 1) {
    const outcome = await attempt(send);
    if (outcome.answer !== null) return { ...outcome.answer, tries };
    if (performance.now() > deadline) {
      throw new Error(`${what} was not done within ${timeoutMs} ms: ${outcome.why}`);
    }
    await pause(RETRY_MS);
  }
}

/** @returns why to try again, if there was no answer or one that says nothing about the request */
async function attempt(send: () => Promise<Answer>): Promise<{ answer: Answer } | { answer: null; why: string }> {
  try {
    const answer = await send();
    if (answer.status !== 502 && answer.status !== 503) return { answer };
    return { answer: null, why: `${answer.status} ${answer.text}` };
  } catch (error) {
    if (error instanceof UndocumentedAnswer || isTimeout(error)) throw error;
    return { answer: null, why: String(error) };
  }
}

/** The operation in the answer to an accepted change, in its body or its headers. @returns null if there is none */
export function operationIdOf({ status, headers, json }: Answer): string | null {
  if (status === 202 && 'operation' in json) return (json as { operation: Operation }).operation.id;
  return /\/operations\/([0-9a-f-]{36})\/$/.exec(headers.get('operation-location') ?? '')?.[1] ?? null;
}
