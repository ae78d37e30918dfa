import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { weekdaysIn } from '../src/clusters/sleep.js';
import { type Folder, type RunOptions, temporaryFolder } from './support/run-corral.js';
import { aCluster, type FakeClusters, runOn, startClusters } from './support/start-clusters.js';

describe('weekdays', () => {
  it.each([
    ['mon-fri', ['monday', 'tuesday', 'wednesday', 'thursday', 'friday']],
    ['sun', ['sunday']],
    ['fri-mon,wed', ['monday', 'wednesday', 'friday', 'saturday', 'sunday']],
  ])('%s are understood', (text, days) => expect(weekdaysIn(text)).toEqual(days));

  it.each(['', 'monday', 'mon-', 'mon-fri-sun', 'mon fri'])('%j are refused', (text) => {
    expect(() => weekdaysIn(text)).toThrow('no weekday');
  });
});

describe('the schedule of a cluster', () => {
  const hours = ['--weekdays', 'mon', '--from', '07:00', '--to', '19:00'];
  const present = { timeZone: 'Europe/Berlin', awake: [], exceptions: [{ date: '2026-12-25' }] };
  const wanted = { ...present, awake: [{ weekdays: ['monday'], from: '07:00', until: '19:00' }] };
  let folder: Folder;
  let api: FakeClusters;
  beforeEach(async () => {
    folder = await temporaryFolder();
    api = await startClusters();
    api.clusters.set('web', aCluster({ hibernationSchedule: present }));
  });
  afterEach(async () => {
    await api.close();
    await folder.remove();
  });
  const sleep = (options: readonly string[], at: RunOptions = {}) =>
    runOn(api, folder, ['--team', 'acme', 'clusters', 'sleep', 'web', ...options], at);
  const schedule = () => api.clusters.get('web')?.spec.hibernationSchedule;

  it('has the hours that were given, and keeps its time zone and dates', async () => {
    const { code, err } = await sleep(hours, { terminal: true, input: 'y\n' });

    expect({ code, schedule: schedule() }).toEqual({ code: 0, schedule: wanted });
    expect(err).toContain('spec.hibernationSchedule: ');
  });

  it('stays after no, and after a dry run', async () => {
    expect((await sleep(hours, { terminal: true, input: 'n\n' })).code).toBe(1);
    expect((await sleep([...hours, '--dry-run'])).code).toBe(0);
    expect(schedule()).toEqual(present);
  });

  it('ends by --off', async () => {
    expect((await sleep(['--off', '--yes'])).code).toBe(0);
    expect(schedule()).toEqual({ awake: [] });
  });

  it.each([[['--weekdays', 'mon']], [[]], [['--off', '--from', '07:00']]])('is not changed by %j', async (options) => {
    expect(await sleep(options)).toMatchObject({ code: 2, err: expect.stringContaining('or --off') });
  });
});
