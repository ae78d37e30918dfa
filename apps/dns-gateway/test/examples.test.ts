import { dnsOpenApi, dnsRoutes } from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addCourse, makeDemo } from './support/demos.js';
import { startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

/* Sends every example of a request body in the OpenAPI document to the operation at which it stands. */

interface Operation {
  readonly operationId: string;
  readonly requestBody?: { readonly content: Record<string, { readonly examples: Record<string, { value: object }> }> };
}
const { paths } = dnsOpenApi('/v1', dnsRoutes) as { readonly paths: Record<string, Record<string, Operation>> };
const examples = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, { operationId, requestBody }]) =>
    Object.values(requestBody?.content ?? {}).flatMap(({ examples }) =>
      Object.entries(examples).map(([name, { value }]) => [operationId, name, method, path, value] as const),
    ),
  ),
);

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
  await addCourse(gateway, 'WORKSHOP');
});
afterAll(() => gateway.close());

/** What the operation needs before. @returns the values in its path */
async function prepare(operationId: string, example: string, path: string): Promise<Record<string, string>> {
  const name = `${operationId}-${example}.acme`.toLowerCase();
  if (path.includes('{name}') && example !== 'create') {
    const records = [{ value: '192.0.2.1' }, { value: '192.0.2.8' }];
    const kept = operationId === 'addRecords' ? records.slice(0, 1) : records;
    const body = { name, type: 'A', records: kept };
    expect((await gateway.call('POST', `/zones/${ZONE}/rrsets`, { body })).status).toBe(201);
  }
  const label = path.includes('{label}') ? (await makeDemo(gateway)).label : '';
  return { zone: ZONE, name, type: 'A', label };
}

describe('the example of a body', () => {
  it.each(examples)('of %s, %s, works', async (operationId, example, method, path, body) => {
    const values = await prepare(operationId, example, path);
    const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => values[name] ?? '');
    const token = 'course_code' in body ? null : gateway.acme.token;

    const { status, text } = await gateway.call(method.toUpperCase(), filled, { body, token });

    expect([status < 300, status, text]).toEqual([true, status, text]);
  });
});
