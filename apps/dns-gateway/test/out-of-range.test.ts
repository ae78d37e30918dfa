import { type DnsRoute, dnsRoutes } from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

const routes: readonly DnsRoute[] = dnsRoutes;
const numbers = routes.flatMap(({ operationId, path, query = [] }) =>
  query.filter(({ type }) => type === 'integer').map(({ name }) => [operationId, name, path] as const),
);
const pathOf = (path: string) => path.replace('{zone}', ZONE);

describe('a number out of range', () => {
  it.each(numbers)('is refused by %s for %s', async (_operationId, name, path) => {
    const values = [
      '1e308',
      '-1e308',
      'NaN',
      'Infinity',
      '0',
      '-1',
      '1.5',
      '0x10',
      '9007199254740992',
      '9'.repeat(400),
      '',
    ];
    for (const value of values) {
      const { status, json } = await gateway.call('GET', `${pathOf(path)}?${name}=${value}`);

      expect([value, status, json.error.code]).toEqual([value, 400, 'invalid_input']);
    }
  });

  it.each(numbers)('is not reported by %s for a safe integer as %s', async (_operationId, name, path) => {
    expect((await gateway.call('GET', `${pathOf(path)}?${name}=${Number.MAX_SAFE_INTEGER}`)).status).toBe(200);
  });

  it.each(['1e308', 'NaN', '9007199254740992', '9'.repeat(400), '-1'])(
    'is not found as an action id: %s',
    async (id) => {
      for (const path of ['/actions', '/zones/actions']) {
        expect((await gateway.call('GET', `${path}/${id}`)).status).toBe(404);
      }
    },
  );
});
