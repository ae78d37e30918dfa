import { expect } from '@jest/globals';
import { ownerOf } from '../../crashes/dns-history.js';
import { DEMO_ZONE, ZONE } from '../../system/start-system.js';
import { callDns } from '../dns-api.js';
import type { Trouble } from './faults.js';
import { apply, applyUntilDone, countWrites, delegatedName, held, type Stage, setQuota, settledSets } from './stage.js';
import type { Runs } from './stories.js';
import type { WantedSet } from './wanted.js';

/** Names for which a client keeps one certificate each. */
interface WantedCertificates {
  readonly certificates: readonly (readonly string[])[];
}

const RUNS_MAX = 4;

/**
 * Gets a certificate for a name of the team and everything below it, then one for a name in a zone that is not Corral's, whose
 * `_acme-challenge` is an alias of a name of the team. Afterwards no challenge is left, and a second run changes nothing.
 *
 * @param trouble happens in each step
 */
export async function playCertificates(stage: Stage, trouble?: Trouble): Promise<Runs> {
  const { cloud } = stage.system;
  const own = certificateOf(stage);
  const delegated = await delegate(stage);
  let most = 0;
  for (const wanted of [[own], [own, [delegated]]]) {
    if (trouble !== undefined) await cloud.addFaults(...trouble.rules);
    most = Math.max(most, await applyUntilDone(stage, { certificates: wanted }, { runsMax: RUNS_MAX }));
    await cloud.clearFaults();
    await expectCertificates(stage, { certificates: wanted });
  }
  return most === 1 ? 'first' : 'again';
}

/** The quota has no room for a challenge at first. */
export async function playCertificatesNearQuota(stage: Stage): Promise<Runs> {
  const wanted = { certificates: [certificateOf(stage)] };
  await fillQuota(stage, 1);

  const refused = await apply(stage, wanted);

  expect({ ...refused, said: refused.said.slice(-4_000) }).toMatchObject({ ok: false });
  expect(refused.said).toMatch(/quota|records/i);
  expect(await challengesOf(stage)).toEqual([]);

  await setQuota(stage, 1 + certificateOf(stage).length);
  const runs = await applyUntilDone(stage, wanted, { runsMax: RUNS_MAX });
  await expectCertificates(stage, wanted);
  await removeFilling(stage);
  await setQuota(stage, 'default');
  return runs === 1 ? 'first' : 'again';
}

/** Both names have the same challenge, with a value each. */
const certificateOf = ({ team }: Stage): string[] => [`${team.slug}.${ZONE}`, `*.${team.slug}.${ZONE}`];

/** Delegates the challenges of a name in a zone of another provider to the team. @returns the name */
async function delegate({ system, team }: Stage): Promise<string> {
  const name = delegatedName(team);
  const relative = name.slice(0, -DEMO_ZONE.length - 1);
  const alias = { records: [{ value: `shop.${team.slug}.${ZONE}.` }] };
  await system.cloud.admin('PUT', `/rrsets/${DEMO_ZONE}/_acme-challenge.${relative}/CNAME`, alias);
  return name;
}

async function expectCertificates(stage: Stage, wanted: WantedCertificates): Promise<void> {
  const names = (lists: readonly (readonly string[])[]) => lists.map((each) => [...each].sort().join(' ')).sort();
  expect(names((await held(stage)).certificates)).toEqual(names(wanted.certificates));
  expect(await challengesOf(stage)).toEqual([]);
  const before = await countWrites(stage);
  await applyUntilDone(stage, wanted, { runsMax: 1 });
  expect((await countWrites(stage)) - before).toBe(0);
}

/** @returns what is left of challenges of the team, of which the mirror knows as much as the upstream */
const challengesOf = async (stage: Stage): Promise<WantedSet[]> =>
  (await settledSets(stage)).filter(({ type, name }) => type === 'TXT' && ownerOf(name) === stage.team.slug);

const FILLING = 'filling';

async function fillQuota(stage: Stage, records: number): Promise<void> {
  await call(stage, 'POST', '/rrsets', {
    name: `${FILLING}.${stage.team.slug}`,
    type: 'A',
    records: Array.from({ length: records }, (_, at) => ({ value: `192.0.2.${at + 1}` })),
  });
  await setQuota(stage, records);
}

const removeFilling = (stage: Stage): Promise<void> => call(stage, 'DELETE', `/rrsets/${FILLING}.${stage.team.slug}/A`);

async function call({ system, team }: Stage, method: string, path: string, body?: object): Promise<void> {
  const call = { method, path: `/zones/${ZONE}${path}`, token: team.token, ...(body && { body }) };
  expect((await callDns(system.url, call)).status).toBeLessThan(300);
}
