import {
  type ClusterRoute,
  checkClusterAnswer,
  clusterRoutes,
  dryRunAnswers,
  type ProblemBody,
  type ProblemCode,
  problemCodes,
  problemsOf,
} from '@corral/contracts';
import { type Answer, ask, routeOf, UndocumentedAnswer } from '../clients/answer.js';

export interface ClusterCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The path from the root of the service. */
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

/**
 * Sends one request to the cluster API and compares its answer with the route table and the schemas.
 *
 * @param base address of the service, without a slash at its end
 * @throws UndocumentedAnswer for an undocumented answer, and for every fault of the service itself
 * @throws Error if there is no answer
 */
export async function callClusterApi(base: string, call: ClusterCall): Promise<Answer> {
  const { path, headers = {}, ...request } = call;
  const answer = await ask(`${base}${path}`, { ...request, headers });
  try {
    assertDocumented(call, answer);
  } catch (cause) {
    const { method } = call;
    throw new UndocumentedAnswer(`${method} ${path} was answered ${answer.status} ${answer.text}`, { cause });
  }
  return answer;
}

function assertDocumented({ method, path }: ClusterCall, answer: Answer): void {
  if (answer.headers.get('x-correlation-id') === null) throw new Error('It has no X-Correlation-Id.');
  const route = routeOf(clusterRoutes as readonly ClusterRoute[], method, path);
  if (answer.status >= 400) assertProblem(route, answer);
  else assertSuccess(route, path, answer);
}

function assertProblem(route: ClusterRoute, { status, headers, json }: Answer): void {
  if (!headers.get('content-type')?.startsWith('application/problem+json'))
    throw new Error('It is no problem document.');
  checkClusterAnswer.problem(json);
  const { code } = json as ProblemBody & { code: ProblemCode };
  if (problemCodes[code].status !== status || json.status !== status) throw new Error('Code and status do not fit.');
  if (!problemsOf(route).includes(code)) throw new Error(`${route.operationId} does not name ${code}.`);
  if (code === 'internal_error') throw new Error('The service failed.');
  if (status === 503 && headers.get('retry-after') === null) throw new Error('It has no Retry-After.');
}

function assertSuccess(route: ClusterRoute, path: string, { status, headers, text, json }: Answer): void {
  const dryRun = /[?&]dryRun=true/.test(path) ? dryRunAnswers[route.operationId] : undefined;
  const shape = dryRun ?? route.answers[status];
  if (shape === undefined) throw new Error(`${route.operationId} has no such answer.`);
  if (shape === null) {
    if (text !== '') throw new Error('It has a body.');
    return;
  }
  if (route.lines) {
    if (!headers.get('content-type')?.startsWith('application/x-ndjson')) throw new Error('It has no lines of JSON.');
    for (const line of text.split('\n').slice(0, -1)) checkClusterAnswer[shape](JSON.parse(line));
    return;
  }
  if (!headers.get('content-type')?.startsWith('application/json')) throw new Error('It is no JSON.');
  checkClusterAnswer[shape](json);
  if (shape === 'cluster' && headers.get('etag') !== json.metadata.etag) {
    throw new Error('Its ETag is not metadata.etag.');
  }
}
