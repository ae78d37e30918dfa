import { randomBytes } from 'node:crypto';
import { isObject } from '@corral/contracts';
import { errorCodeOf, type JsonBody, type Outgoing, openWire, readJsonObject } from './exchange.js';

export interface VerifyTokenOptions {
  readonly baseUrl: string;
  readonly token: string;
  /** The limit of all calls together. Default: 3,000. */
  readonly timeoutMs?: number;
}

/**
 * `read-only`: it is good, and not good enough: nothing can be made with it. `unknown`: the provider gave no usable
 * answer; nothing was learnt about the token.
 */
export type TokenVerdict = 'valid' | 'read-only' | 'rejected' | 'unknown';

/** Marks what a verification makes, so that the next one finds what a crash left behind. */
const PROBE_LABEL = 'corral.dev/probe';
const groups = '/placement_groups';
const leftOvers = `${groups}?label_selector=${encodeURIComponent(PROBE_LABEL)}`;

type Ask = (outgoing: Outgoing) => Promise<Answer>;

/** `body` is null unless the provider's own words came. */
type Answer = { readonly status: number; readonly body: JsonBody | null } | 'none';

/**
 * Asks the provider what a token is good for. That it may write shows in a write only, so an empty placement group is made
 * and deleted: it is free, holds nothing, and is looked for by its label first, in case an earlier one was left behind.
 *
 * One refusal may be an outage and would disable a healthy connection: only a second one, on a separate connection,
 * counts. What is neither a refusal nor what was asked for proves nothing. Never more than four calls, and one for each
 * probe that was left behind.
 */
export async function verifyToken({ baseUrl, token, timeoutMs = 3_000 }: VerifyTokenOptions): Promise<TokenVerdict> {
  const endsAt = performance.now() + timeoutMs;
  const ask: Ask = async (outgoing) => {
    const leftMs = endsAt - performance.now();
    return leftMs <= 0 ? 'none' : askOnce({ baseUrl, token, timeoutMs: leftMs }, outgoing);
  };
  const readable = await twice(() => findLeftOvers(ask));
  if (typeof readable === 'string') return readable;
  const verdict = await twice(() => probe(ask));
  if (verdict === 'valid') for (const id of readable) await remove(ask, id);
  return verdict;
}

const refusals: readonly unknown[] = ['rejected', 'read-only'];

/** Asks again after a refusal: the second answer counts. */
async function twice<T>(look: () => Promise<T>): Promise<T> {
  const first = await look();
  return refusals.includes(first) ? look() : first;
}

/** @returns the ids of probes that were left behind. A token that may list them may read */
async function findLeftOvers(ask: Ask): Promise<readonly number[] | 'rejected' | 'unknown'> {
  const answer = await ask({ method: 'GET', path: leftOvers, body: null });
  if (answer === 'none') return 'unknown';
  if (answer.status === 401) return 'rejected';
  const listed = answer.status === 200 ? answer.body?.value.placement_groups : undefined;
  return Array.isArray(listed) ? listed.flatMap(idOf) : 'unknown';
}

async function probe(ask: Ask): Promise<Exclude<TokenVerdict, 'rejected'>> {
  const name = `corral-probe-${randomBytes(6).toString('hex')}`;
  const body = Buffer.from(JSON.stringify({ name, type: 'spread', labels: { [PROBE_LABEL]: 'token' } }));
  const answer = await ask({ method: 'POST', path: groups, body });
  if (answer === 'none' || answer.body === null) return 'unknown';
  if (answer.status === 201) {
    for (const id of idOf(answer.body.value.placement_group)) await remove(ask, id);
    return 'valid';
  }
  return refusalOf(answer.status, errorCodeOf(answer.body));
}

/**
 * What a probe that was not made says of the token. Refused for the state of the project (as many groups as it may have)
 * or for its shape, the token had been accepted before.
 */
function refusalOf(status: number, code: string | null): Exclude<TokenVerdict, 'rejected'> {
  if (code === 'token_readonly' || (status === 403 && code === 'forbidden')) return 'read-only';
  const saysNothing = code === null || status < 400 || status >= 500 || [401, 423, 429].includes(status);
  return saysNothing || code === 'maintenance' ? 'unknown' : 'valid';
}

/** One that stays is found by its label at the next verification. */
async function remove(ask: Ask, id: number): Promise<void> {
  await ask({ method: 'DELETE', path: `${groups}/${id}`, body: null });
}

function idOf(group: unknown): number[] {
  const id = isObject(group) ? group.id : null;
  return typeof id === 'number' && Number.isSafeInteger(id) ? [id] : [];
}

/** One call on a separate connection. Nothing depends on whether a call without an answer arrived. */
async function askOnce(options: Required<VerifyTokenOptions>, outgoing: Outgoing): Promise<Answer> {
  const wire = openWire(options);
  const answer = await wire.exchange(outgoing);
  wire.close();
  return answer.kind === 'broken' ? 'none' : { status: answer.status, body: readJsonObject(answer.body) };
}
