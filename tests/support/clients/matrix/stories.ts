import { expect } from '@jest/globals';
import type { Trouble } from './faults.js';
import { apply, applyUntilDone, countWrites, held, type Stage, setQuota, settledSets } from './stage.js';
import { countRecords, sorted, type WantedSet, type WantedStates } from './wanted.js';

/** How a part of a client's test went. */
export interface Outcome {
  /** Whether each step succeeded in its first run, or one had to be run again. */
  readonly runs: 'first' | 'again';
}

/** What a client keeps in the zone in addition to the sets that it is told to keep, such as its registry. */
export type Additions = (wanted: readonly WantedSet[], stage: Stage) => readonly WantedSet[];

export interface RecordsPlay {
  readonly stage: Stage;
  readonly states: WantedStates;
  readonly additions?: Additions;
}

const RUNS_MAX = 4;
/** Missing for the last sets. */
const SHORT_BY = 2;

/**
 * Creates, changes and deletes record sets. After each step a second run changes nothing, and the client, the upstream and the
 * mirror agree.
 *
 * @param trouble happens in each step
 */
export async function playRecords(play: RecordsPlay, trouble?: Trouble): Promise<Outcome> {
  const { stage, states } = play;
  const { cloud } = stage.system;
  let most = 0;
  for (const wanted of [states.created, states.changed, []]) {
    if (trouble !== undefined) await cloud.addFaults(...trouble.rules);
    most = Math.max(most, await applyUntilDone(stage, wanted, { runsMax: RUNS_MAX }));
    await cloud.clearFaults();
    await expectAgreement(play, wanted);
    await expectRest(stage, wanted);
  }
  return { runs: most === 1 ? 'first' : 'again' };
}

/** The quota ends before the wanted sets do. */
export async function playRecordsNearQuota(play: RecordsPlay): Promise<Outcome> {
  const { stage, states } = play;
  const needed = countRecords(withAdditions(play, states.created));
  await setQuota(stage, needed - SHORT_BY);

  const refused = await apply(stage, states.created);

  expect({ ...refused, said: refused.said.slice(-4_000) }).toMatchObject({ ok: false });
  const kept = await settledSets(stage);
  expect(countRecords(kept)).toBeLessThanOrEqual(needed - SHORT_BY);
  const all = sorted(withAdditions(play, states.created));
  expect(sorted(kept).filter((set) => !all.some((each) => JSON.stringify(each) === JSON.stringify(set)))).toEqual([]);
  expect(await held(stage)).toMatchObject({ tainted: [] });
  expect(sorted((await held(stage)).sets)).toEqual(sorted(kept));

  await setQuota(stage, needed);
  const runs = await applyUntilDone(stage, states.created, { runsMax: RUNS_MAX });
  await expectAgreement(play, states.created);
  await expectRest(stage, states.created);
  await applyUntilDone(stage, [], { runsMax: RUNS_MAX });
  await expectAgreement(play, []);
  await setQuota(stage, 'default');
  return { runs: runs === 1 ? 'first' : 'again' };
}

const withAdditions = ({ stage, additions }: RecordsPlay, wanted: readonly WantedSet[]): WantedSet[] => [
  ...wanted,
  ...(additions?.(wanted, stage) ?? []),
];

/** Expects that the upstream holds what is wanted and nothing else, that the mirror shows that, and that the client knows it. */
async function expectAgreement(play: RecordsPlay, wanted: readonly WantedSet[]): Promise<void> {
  const upstream = sorted(await settledSets(play.stage));
  expect(upstream).toEqual(sorted(withAdditions(play, wanted)));
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
