import { dnsDemoRoutes } from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addCourse, makeDemo, type TestDemo } from '../support/demos.js';
import { expectRefusal } from '../support/expect-refusal.js';
import { DEMO_ZONE, startGateway, type TestGateway } from '../support/start-gateway.js';

let gateway: TestGateway;
let off: TestGateway;
let demo: TestDemo;
beforeAll(async () => {
  gateway = await startGateway();
  off = await startGateway({ beside: gateway, config: { demos: null } });
  await addCourse(gateway, 'WORKSHOP');
  demo = await makeDemo(gateway);
});
afterAll(async () => {
  await off.close();
  await gateway.close();
});

describe('while demos are switched off', () => {
  it.each(dnsDemoRoutes.map(({ operationId, method, path }) => [operationId, method, path] as const))(
    '%s is an unknown path',
    async (_operation, method, path) => {
      const ask = () =>
        off.call(
          method.toUpperCase(),
          path.replace('{label}', demo.label),
          method === 'post' ? { body: { ttl: 300 } } : {},
        );

      const answer = await expectRefusal(off, ask, 404, 'not_found');

      expect(answer.text).toBe((await off.call('GET', '/no/such/path')).text);
    },
  );

  it('a course code has no effect', async () => {
    const join = () => off.call('POST', '/demos', { token: null, body: { course_code: 'WORKSHOP' } });

    await expectRefusal(off, join, 404, 'not_found');
  });

  it('the token of a demo is unknown', async () => {
    for (const path of ['/zones', `/zones/${DEMO_ZONE}`, `/zones/${DEMO_ZONE}/rrsets`]) {
      await expectRefusal(off, () => off.call('GET', path, { token: demo.token }), 401, 'unauthorized');
    }
  });

  it('the OpenAPI document does not contain them', async () => {
    const { paths } = (await off.call('GET', '/../openapi.json')).json;

    expect(Object.keys(paths).filter((path) => path.startsWith('/demos'))).toEqual([]);
    expect(Object.keys((await gateway.call('GET', '/../openapi.json')).json.paths)).toContain('/demos');
  });
});
