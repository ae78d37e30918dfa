import {
  type ClusterRoute,
  checkClusterAnswer,
  clusterRoutes,
  dryRunAnswers,
  problemCodes,
  problemsOf,
  type UserId,
} from '@corral/contracts';
import { expect } from '@jest/globals';
import type { Express } from 'express';
import request, { type Response, type Test } from 'supertest';

export interface TestUser {
  readonly id: UserId;
  readonly email: string;
  /** The `Cookie` header of one of their sessions. */
  readonly cookie: string;
}

type Method = 'get' | 'head' | 'post' | 'put' | 'delete' | 'patch' | 'options';
export type Requests = Readonly<Record<Method, (path: string) => Test>>;

export interface ApiClient extends Requests {
  /** The same requests with a user's session. `pathOf` completes their paths. */
  as(user: Pick<TestUser, 'cookie'>, pathOf?: (path: string) => string): Requests;
  /** The same requests with the token of a service account. */
  withToken(token: string): Requests;
}

const methods = ['get', 'head', 'post', 'put', 'delete', 'patch', 'options'] as const;
/** A client that fails the test for any answer outside the contract. Without `as` or `withToken`, requests have no credential. */
export function checkedClient(app: Express, publicUrl: string): ApiClient {
  const requests = (credential: Readonly<Record<string, string>>, pathOf = (path: string) => path) =>
    Object.fromEntries(
      methods.map((method) => [
        method,
        (rest: string) => {
          const path = pathOf(rest);
          const sent = request(app)[method](path);
          return sent.set(credential).expect((answer) => checkAnswer(answer, method, path, publicUrl));
        },
      ]),
    ) as Requests;
  return {
    ...requests({}),
    as: ({ cookie }, pathOf) => requests({ Cookie: cookie }, pathOf),
    withToken: (token) => requests({ Authorization: `Bearer ${token}` }),
  };
}

/** Asserts that an answer matches the route table and the schemas. */
export function checkAnswer(answer: Response, method: string, path: string, publicUrl: string): void {
  const route = routeOf(method, path.split('?')[0] as string);
  expect(answer.headers['x-correlation-id']).toMatch(/^[0-9a-f-]{36}$/);
  if (answer.status >= 400) checkProblem(answer, method, route, publicUrl);
  else if (route !== undefined && answer.status !== 308 && method !== 'head') checkSuccess(answer, route, path);
}

function checkProblem(answer: Response, method: string, route: ClusterRoute | undefined, publicUrl: string): void {
  expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8');
  expect(answer.headers['cache-control']).toBe('no-store');
  if (method === 'head') return;
  // supertest parses what ends in +json.
  const body = checkClusterAnswer.problem(answer.body) as { code: keyof typeof problemCodes };
  expect(answer.body).toMatchObject({
    type: `${publicUrl}/problems/${body.code}`,
    title: problemCodes[body.code].title,
    status: answer.status,
    instance: `urn:uuid:${answer.headers['x-correlation-id']}`,
  });
  expect(answer.status).toBe(problemCodes[body.code].status);
  if (route !== undefined) expect(problemsOf(route)).toContain(body.code);
}

function checkSuccess(answer: Response, route: ClusterRoute, path: string): void {
  const dryRun = path.includes('dryRun=true') ? dryRunAnswers[route.operationId] : undefined;
  const expected = answer.status === 200 && dryRun !== undefined ? dryRun : route.answers[answer.status];
  if (expected === undefined) throw new Error(`${route.operationId} answered ${answer.status}: ${answer.text}`);
  expect(answer.headers['cache-control']).toMatch(/no-store|no-cache/);
  if (route.page && answer.status === 200) expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
  else if (expected === null) expect(answer.text ?? '').toBe('');
  else if (route.lines) for (const line of linesOf(answer)) checkClusterAnswer[expected](line);
  else checkClusterAnswer[expected](answer.body);
}

/** The documents of an NDJSON answer. */
function linesOf(answer: Response): object[] {
  expect(answer.headers['content-type']).toBe('application/x-ndjson; charset=utf-8');
  const lines = answer.text.split('\n');
  expect(lines.pop()).toBe('');
  return lines.map((line) => JSON.parse(line));
}

/** The row of the route table that matches a path. */
function routeOf(method: string, path: string): ClusterRoute | undefined {
  const wanted = method === 'head' ? 'get' : method;
  return (clusterRoutes as readonly ClusterRoute[]).find((route) => {
    const pattern = new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}?$`);
    return route.method === wanted && pattern.test(path);
  });
}
