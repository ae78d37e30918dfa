import { type DatabaseDoor, databaseDoor, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Response } from 'supertest';
import { startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

let test: TestClusterApi;
let door: DatabaseDoor;
beforeAll(async () => {
  test = await startClusterApi();
  door = databaseDoor(test.databaseUrl);
});
afterAll(() => test.close());
afterEach(() => door.open());

function expectUnavailable({ status, body, headers }: Response): void {
  expect([status, body.code]).toEqual([503, 'service_unavailable']);
  expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
}

describe('while Postgres is unavailable', () => {
  it('requests with a session get 503 with Retry-After, and recover on their own', async () => {
    const member = test.api.as(test.acme.member);
    await door.shut();

    for (const path of ['/api/v1/me/', test.acme.path('/clusters/'), test.acme.path('/connections/')]) {
      expectUnavailable(await member.get(path));
    }
    const put = () =>
      test.api
        .as(test.acme.admin)
        .put(test.acme.path('/connections/main/'))
        .send({ spec: { provider: 'hcloud', token: 't' } });
    expectUnavailable(await put());
    expectUnavailable(await test.api.as(test.acme.member).post('/auth/logout/'));
    await waitFor('not to be ready', async () => (await test.api.get('/readyz')).status === 503);
    await door.open();

    await waitFor('the API to answer', async () => (await member.get('/api/v1/me/')).status === 200);
    await put().expect(201);
  });

  it('requests without a session still get 401, and public pages work', async () => {
    await door.shut();

    await test.api.get('/api/v1/me/').expect(401);
    await test.api.get('/healthz').expect(200);
    await test.api.get('/problems/service_unavailable').expect(200);
  });
});

describe('a Postgres that becomes unavailable during changes', () => {
  it('leaves each change complete or without effect', async () => {
    const before = await test.db.connection.count();
    const sent = Array.from({ length: 8 }, (_, at) =>
      test.api
        .as(test.acme.admin)
        .put(test.acme.path(`/connections/c${at}/`))
        .send({ spec: { provider: 'hcloud', token: 't' } }),
    );
    const answers = Promise.all(sent);
    await waitFor('a change to be under way', async () => (await test.db.connection.count()) > before);

    await door.shut();
    const statuses = (await answers).map(({ status }) => status);
    await door.open();

    expect(statuses.filter((status) => status !== 201 && status !== 503)).toEqual([]);
    await waitFor('Postgres to be back', () => test.db.connection.count());
    const entries = await test.db.auditEntry.count({ where: { action: 'connection.create' } });
    expect(await test.db.connection.count()).toBe(entries);
    expect(entries).toBeGreaterThanOrEqual(before + statuses.filter((status) => status === 201).length);
  });
});
