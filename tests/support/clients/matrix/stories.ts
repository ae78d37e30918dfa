import { expect } from '@jest/globals';
import { ZONE } from '../../system/start-system.js';
import { callDns } from '../dns-api.js';
import type { Trouble } from './faults.js';
import { apply, applyUntilDone, countWrites, held, type Stage, setQuota, settledSets } from './stage.js';
import { countRecords, sorted, type WantedSet, type WantedStates } from './wanted.js';

/** Whether each step succeeded in its first run, one had to be run again, or somebody had to help before. */
export type Runs = 'first' | 'again' | 'by hand';

/** What the zone holds when a client keeps what it is told to keep: for some in other words, or with a registry. */
export type Kept = (wanted: readonly WantedSet[], stage: Stage) => readonly WantedSet[];

/** Does what the page tells people to do by hand after a run that was cut off. Returns whether there was anything to do. */
export type Remedy = (stage: Stage) => Promise<boolean>;

export interface RecordsPlay {
  readonly stage: Stage;
  readonly states: WantedStates;
  /** False for a client that never deletes a set. */
  readonly deletes?: boolean;
  readonly keeps?: Kept;
  readonly remedy?: Remedy;
}

const RUNS_MAX = 4;
/** Missing for the last sets. */
const SHORT_BY = 2;

/**
 * Creates, changes and deletes record sets. After each step a second run changes nothing, and the client, the upstream and the
 * mirror agree. What belongs to another team stays as it is.
 *
 * @param trouble happens in each step
 */
export async function playRecords(play: RecordsPlay, trouble?: Trouble): Promise<Runs> {
  const { stage, states, deletes = true } = play;
  const { cloud } = stage.system;
  const all: Runs[] = [];
  await cloud.putRrset(FOREIGN, 'A', { records: [{ value: '192.0.2.200' }] });
  const foreign = await statedForeign(stage);
  for (const wanted of [states.created, states.changed, ...(deletes ? [[]] : [])]) {
    if (trouble !== undefined) await cloud.addFaults(...trouble.rules);
    all.push(await applied(play, wanted));
    await cloud.clearFaults();
    await expectAgreement(play, wanted);
    await expectRest(stage, wanted);
  }
  if (!deletes) await deleteSets(stage, states.changed);
  expect(await statedForeign(stage)).toEqual(foreign);
  return worst(all);
}

/** A set that belongs to another team, which no client may see or touch. */
const FOREIGN = 'www.somebody-else';

const statedForeign = async ({ system }: Stage): Promise<string | undefined> =>
  (await system.cloud.stated()).get(`${FOREIGN}/A`);

/** The quota ends before the wanted sets do. */
export async function playRecordsNearQuota(play: RecordsPlay): Promise<Runs> {
  const { stage, states, deletes = true } = play;
  const needed = countRecords(keptOf(play, states.created));
  await setQuota(stage, needed - SHORT_BY);

  const refused = await apply(stage, states.created);

  expect({ ...refused, said: refused.said.slice(-4_000) }).toMatchObject({ ok: false });
  const kept = await settledSets(stage);
  expect(countRecords(kept)).toBeLessThanOrEqual(needed - SHORT_BY);
  const all = sorted(keptOf(play, states.created));
  expect(sorted(kept).filter((set) => !all.some((each) => JSON.stringify(each) === JSON.stringify(set)))).toEqual([]);
  if (play.remedy === undefined) expect(await held(stage)).toMatchObject({ tainted: [] });
  expect(sorted((await held(stage)).sets)).toEqual(sorted(kept));

  await setQuota(stage, needed);
  const runs = await applied(play, states.created);
  await expectAgreement(play, states.created);
  await expectRest(stage, states.created);
  if (deletes) await applyUntilDone(stage, [], { runsMax: RUNS_MAX });
  else await deleteSets(stage, states.created);
  await expectAgreement(play, []);
  await setQuota(stage, 'default');
  return runs;
}

/** Runs a client until it is done, and once more if somebody had to help. */
async function applied({ stage, remedy }: RecordsPlay, wanted: readonly WantedSet[]): Promise<Runs> {
  const runs = await applyUntilDone(stage, wanted, { runsMax: RUNS_MAX });
  if (!(await remedy?.(stage))) return runs === 1 ? 'first' : 'again';
  await applyUntilDone(stage, wanted, { runsMax: RUNS_MAX });
  return 'by hand';
}

const worst = (all: readonly Runs[]): Runs =>
  (['by hand', 'again'] as const).find((runs) => all.includes(runs)) ?? 'first';

async function deleteSets({ system, team }: Stage, sets: readonly WantedSet[]): Promise<void> {
  for (const { name, type } of sets) {
    const path = `/zones/${ZONE}/rrsets/${name}/${type}`;
    const { status } = await callDns(system.url, { method: 'DELETE', path, token: team.token });
    expect(status).toBeLessThan(300);
  }
}

const keptOf = ({ stage, keeps }: RecordsPlay, wanted: readonly WantedSet[]): readonly WantedSet[] =>
  keeps?.(wanted, stage) ?? wanted;

/** Expects that the upstream holds what is wanted and nothing else, that the mirror shows that, and that the client knows it. */
async function expectAgreement(play: RecordsPlay, wanted: readonly WantedSet[]): Promise<void> {
  const upstream = sorted(await settledSets(play.stage));
  expect(upstream).toEqual(sorted(keptOf(play, wanted)));
  const believed = await held(play.stage);
  expect(believed.tainted).toEqual([]);
  expect(sorted(believed.sets)).toEqual(upstream);
}

/** Expects that one more run succeeds without a write. */
async function expectRest(stage: Stage, wanted: unknown): Promise<void> {
  const before = await countWrites(stage);
  await applyUntilDone(stage, wanted, { runsMax: 1 });
  expect((await countWrites(stage)) - before).toBe(0);
}
