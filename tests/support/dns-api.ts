import { checkDnsAnswer, type DnsAnswer } from '@corral/contracts';
import { type Answer, ask, UndocumentedAnswer } from './answer.js';

export interface DnsCall {
  readonly method: string;
  /** Below `/v1`. */
  readonly path: string;
  readonly body?: unknown;
  /** Default: none, as from somebody who knows a course code. */
  readonly token?: string;
  readonly timeoutMs?: number;
}

/**
 * Sends one request and holds its answer against the documentation.
 *
 * @param url of a gateway; ends in `/v1`
 * @throws Error when no answer comes, or one in a shape that is not documented
 */
export async function callDns(url: string, call: DnsCall): Promise<Answer> {
  const { path, token, ...request } = call;
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const answer = await ask(`${url}${path}`, { ...request, headers });
  assertDocumented(call, answer);
  return answer;
}

/** @throws UndocumentedAnswer when the answer has not the shape that the documentation gives for it */
function assertDocumented({ method, path }: DnsCall, answer: Answer): void {
  const shape = shapeOf(method, path.split('?')[0] ?? '', answer.status);
  try {
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

/** The upstream's own failures pass through; the gateway's never happen. */
const isInjected = ({ json }: Answer): boolean => json.error.message === 'injected fault';

function shapeOf(method: string, path: string, status: number): DnsAnswer | null {
  if (status >= 400) return 'error';
  if (status === 204) return null;
  if (/^\/demos$/.test(path)) return method === 'POST' ? 'createdDemo' : 'demoList';
  if (/^\/demos\//.test(path)) return 'demo';
  if (/^\/(zones\/)?actions\/[^/]+$/.test(path)) return 'action';
  if (/^\/(zones\/)?actions$/.test(path)) return 'actionList';
  if (/^\/zones$/.test(path)) return 'zoneList';
  if (/^\/zones\/[^/]+$/.test(path)) return 'zone';
  if (/\/rrsets$/.test(path)) return method === 'POST' ? 'created' : 'rrsetList';
  return method === 'GET' || method === 'PUT' ? 'rrset' : 'action';
}
