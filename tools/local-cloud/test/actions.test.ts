import { afterEach, describe, expect, it } from '@jest/globals';
import { records, startTestCloud, type TestCloud } from './start-test-cloud.js';

let cloud: TestCloud;
afterEach(() => cloud.close());

const add = async (value: string) => {
  const { body } = await cloud.call('POST', '/zones/7001/rrsets/app/A/actions/add_records', {
    records: records(value),
  });
  return body.action;
};
const statusOf = async (id: number) => (await cloud.call('GET', `/actions/${id}`)).body.action.status;
const shown = async () => (await cloud.call('GET', '/zones/7001/rrsets/app/A')).body.rrset?.records.length ?? 0;

describe('an action', () => {
  it('runs for its time and then succeeds', async () => {
    cloud = await startTestCloud();
    const action = await add('192.0.2.1');

    cloud.admin.advanceClock(30_000);
    const half = await cloud.call('GET', `/actions/${action.id}`);
    cloud.admin.advanceClock(30_000);
    const whole = await cloud.call('GET', `/actions/${action.id}`);

    expect([half.status, half.body]).toEqual([200, { action }]);
    expect(whole.body.action).toEqual({
      ...action,
      status: 'success',
      progress: 100,
      finished: expect.stringMatching(/Z$/),
    });
  });

  it('is running in the answer to its write, however short it is', async () => {
    cloud = await startTestCloud({ actionMs: 0 });

    const action = await add('192.0.2.1');

    expect([action.status, await statusOf(action.id)]).toEqual(['running', 'success']);
  });

  it('is found by its number', async () => {
    cloud = await startTestCloud();
    const action = await add('192.0.2.1');

    expect((await cloud.call('GET', '/actions/880001')).body).toEqual({ action });
  });

  it('ends in error and has no effect when a fault requires it', async () => {
    cloud = await startTestCloud();
    cloud.admin.addFaults({ effect: { actionError: { code: 'unknown_error', message: 'sorry' } } });

    const action = await add('192.0.2.1');
    cloud.admin.advanceClock(60_000);

    const { body } = await cloud.call('GET', `/actions/${action.id}`);
    expect(body.action).toMatchObject({ status: 'error', error: { code: 'unknown_error', message: 'sorry' } });
    expect(await shown()).toBe(0);
    expect(cloud.admin.writes()).toMatchObject([{ actionId: action.id, actionError: { code: 'unknown_error' } }]);
  });
});

describe('an action with a late failure', () => {
  it('runs for the time that the fault states, and then ends in its error', async () => {
    cloud = await startTestCloud();
    cloud.admin.addFaults({ effect: { actionError: { code: 'unknown_error', message: 'sorry', afterMs: 120_000 } } });
    const { id } = await add('192.0.2.1');
    const statusOf = async () => (await cloud.call('GET', `/actions/${id}`)).body.action.status;

    cloud.admin.advanceClock(60_000);
    expect(await statusOf()).toBe('running');
    cloud.admin.advanceClock(61_000);
    expect(await statusOf()).toBe('error');
    expect(cloud.admin.writes()[0]?.actionError).toEqual({ code: 'unknown_error', message: 'sorry' });
  });
});

describe('the list of actions', () => {
  it('contains the requested ones that exist, ignores page and sort, and has no meta', async () => {
    cloud = await startTestCloud();
    const actions = [await add('192.0.2.1'), await add('192.0.2.2')];

    const { status, body } = await cloud.call('GET', '/actions?id=880002&id=5&id=880001&page=9&sort=status&sort=id');

    expect([status, body]).toEqual([200, { actions }]);
  });

  it('requires an id', async () => {
    cloud = await startTestCloud();

    const { status, body } = await cloud.call('GET', '/actions');

    expect([status, body.error]).toMatchObject([
      410,
      { code: 'deprecated_api_endpoint', details: { announcement: expect.any(String) } },
    ]);
  });
});
