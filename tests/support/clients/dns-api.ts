import { checkDnsAnswer, dnsRoutes } from '@corral/contracts';
import { type Answer, ask, routeOf, UndocumentedAnswer } from './answer.js';

export interface DnsCall {
  readonly method: string;
  /** The path below `/v1`. */
  readonly path: string;
  readonly body?: unknown;
  /** The default is no token, as for a request with a course code. */
  readonly token?: string;
  readonly timeoutMs?: number;
}

/**
 * Sends one request and compares its answer with the documentation.
 *
 * @param url the address of a gateway, which ends in `/v1`
 * @throws Error if there is no answer, or an undocumented one
 */
export async function callDns(url: string, call: DnsCall): Promise<Answer> {
  const { path, token, ...request } = call;
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const answer = await ask(`${url}${path}`, { ...request, headers });
  assertDocumented(call, answer);
  return answer;
}

/** @throws UndocumentedAnswer if the answer does not have the documented form */
function assertDocumented({ method, path }: DnsCall, answer: Answer): void {
  try {
    const route = routeOf(dnsRoutes, method, path);
    if (answer.status < 400 && answer.status !== route.status) throw new Error('The table has no such status.');
    const shape = answer.status < 400 ? route.answer : 'error';
    if (WAIT_AND_RETRY.includes(answer.status) && !/^[1-9]\d*$/.test(answer.headers.get('retry-after') ?? '')) {
      throw new Error('It does not say when to try again.');
    }
    if (shape === null) {
      if (answer.text !== '') throw new Error('It is not empty.');
      return;
    }
    if (!answer.headers.get('content-type')?.startsWith('application/json')) throw new Error('It is no JSON.');
    if (answer.headers.get('x-correlation-id') === null) throw new Error('It has no X-Correlation-Id.');
    checkDnsAnswer[shape](answer.json);
    if (answer.json.error?.code === 'server_error' && !isInjected(answer)) throw new Error('The gateway failed.');
  } catch (cause) {
    throw new UndocumentedAnswer(`${method} ${path} was answered ${answer.status} ${answer.text}`, { cause });
  }
}

const WAIT_AND_RETRY = [429, 503];

/** Failures of the upstream itself are passed on. The gateway itself must never fail. */
const isInjected = ({ json }: Answer): boolean => json.error.message === 'injected fault';
