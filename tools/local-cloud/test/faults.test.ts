import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { FaultEffect } from '../src/index.js';
import { records, startTestCloud, type TestCloud } from './start-test-cloud.js';

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await startTestCloud();
});
afterEach(() => cloud.close());

const write = () => cloud.call('POST', '/zones/7001/rrsets', { name: 'app', type: 'A', records: records('192.0.2.1') });
const performed = () => cloud.admin.writes().length === 1;

describe('an injected fault', () => {
  it.each<[FaultEffect, number, unknown]>([
    [{ status: 503 }, 503, { error: { code: 'unavailable', message: 'injected fault', details: null } }],
    [{ status: 409 }, 409, { error: { code: 'conflict', message: 'injected fault', details: null } }],
    [
      { status: 423, code: 'locked', message: 'busy' },
      423,
      { error: { code: 'locked', message: 'busy', details: null } },
    ],
    [{ status: 500, body: { a: 1 } }, 500, { a: 1 }],
  ])('%j replaces the answer of the API', async (effect, status, body) => {
    cloud.admin.addFaults({ effect });

    const answer = await write();

    expect([answer.status, answer.body, performed()]).toEqual([status, body, false]);
  });

  it('returns any body and type', async () => {
    cloud.admin.addFaults({ effect: { status: 502, body: '<html>', contentType: 'text/html' } });

    const { status, text, headers } = await write();

    expect([status, text, headers.get('Content-Type')]).toEqual([502, '<html>', 'text/html']);
  });

  it('can perform the request before it answers', async () => {
    cloud.admin.addFaults({ effect: { status: 504, perform: true } });

    const { status, body } = await write();

    expect([status, body.error.code, performed()]).toEqual([504, 'timeout', true]);
  });

  it.each<[FaultEffect, boolean]>([
    [{ reset: 'before' }, false],
    [{ reset: 'after' }, true],
    [{ truncate: true }, true],
  ])('%j breaks the connection', async (effect, isPerformed) => {
    cloud.admin.addFaults({ effect });

    await expect(write()).rejects.toThrow();

    expect(performed()).toBe(isPerformed);
  });

  it('can leave a request without an answer until the cloud is closed', async () => {
    cloud.admin.addFaults({ match: { method: 'POST' }, effect: { hang: true } });

    const hanging = write();
    hanging.catch(() => {});
    await expect(Promise.race([hanging, cloud.call('GET', '/zones')])).resolves.toMatchObject({ status: 200 });

    await cloud.close();
    await expect(hanging).rejects.toThrow();
    cloud = await startTestCloud();
  });

  it('can delay a request', async () => {
    cloud.admin.addFaults({ effect: { delayMs: 30 } });
    const before = performance.now();

    const { status } = await write();

    expect(status).toBe(201);
    expect(performance.now() - before).toBeGreaterThanOrEqual(29);
  });

  it('can be set, listed and cleared over HTTP', async () => {
    const set = await cloud.callAdmin('POST', '/faults', {
      match: { method: 'POST' },
      times: null,
      effect: { status: 500 },
    });
    const more = await cloud.callAdmin('POST', '/faults', [{ effect: { hang: true } }, { effect: { truncate: true } }]);
    await write();
    const listed = await cloud.callAdmin('GET', '/faults');
    const cleared = await cloud.callAdmin('DELETE', '/faults');

    expect([set.status, more.status, cleared.status]).toEqual([201, 201, 204]);
    expect(listed.body.faults).toMatchObject([{ hits: 1, remaining: null }, { remaining: 1 }, { remaining: 1 }]);
    expect((await write()).status).toBe(201);
  });
});
