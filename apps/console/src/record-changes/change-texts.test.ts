import type { ChangePlan, Outcomes, SetChange, SetState } from '@corral/domain';
import { describe, expect, it } from '@jest/globals';
import { planText, runText, shownState } from './change-texts.js';

const content = { records: [], ttl: null, labels: {} };
const change = (name: string, kind: string): SetChange => ({
  key: `${name} A`,
  name,
  type: 'A',
  from: kind === '+' ? null : content,
  to: kind === '-' ? null : content,
});
/** One change for each sign. */
const changes = (signs: string) => [...signs].map((sign, at) => change(`n${at}`, sign));
const outcomes = (states: readonly (SetState | null)[]): Outcomes =>
  Object.fromEntries(states.flatMap((state, at) => (state === null ? [] : [[`n${at} A`, { state }]])));

describe('the text of a plan', () => {
  it.each<[signs: string, refused: number, same: number, text: string]>([
    ['', 0, 0, 'Nothing changes.'],
    ['+', 0, 0, 'Adds 1 record set.'],
    ['---', 0, 0, 'Removes 3 record sets.'],
    ['+~', 0, 1, 'Adds 1 record set and changes 1. 1 is as wanted already.'],
    ['+~--', 1, 46, 'Adds 1 record set, changes 1 and removes 2. 1 cannot be written. 46 are as wanted already.'],
  ])('is a sentence for the changes %p', (signs, refused, same, text) => {
    const plan = { waves: [changes(signs)], refused: changes('+'.repeat(refused)), same, recordsAfter: 49 };

    expect(planText(plan as unknown as ChangePlan, 200)).toBe(`${text} Then 49 of 200 records are used.`);
  });
});

describe('the text of a run', () => {
  it.each<[signs: string, states: (SetState | null)[], text: string]>([
    ['+', ['done'], 'n0 A added'],
    ['~', ['refused'], 'n0 A was not saved'],
    ['~', ['writing'], '0 of 1 change applied'],
    ['---', ['done', 'done', 'done'], '3 record sets removed'],
    ['+-', ['done', 'done'], '2 changes applied'],
    ['+~-', ['done', 'writing', null], '1 of 3 changes applied'],
    ['+~-', ['done', 'refused', 'skipped'], '1 of 3 changes applied, 1 refused, 1 skipped'],
  ])('is a sentence for the changes %p in the states %p', (signs, states, text) => {
    expect(runText(changes(signs), outcomes(states))).toBe(text);
  });

  it.each<[state: SetState, running: string, interrupted: string]>([
    ['waiting', 'waiting', 'waiting'],
    ['writing', 'writing', 'not known'],
    ['written', 'confirming', 'not known'],
    ['unknown', 'not known', 'not known'],
    ['refused', 'refused', 'refused'],
  ])('shows %s as %s while it runs, and as %s when it was interrupted', (state, running, interrupted) => {
    expect(shownState({ state }, true).word).toBe(running);
    expect(shownState({ state }, false).word).toBe(interrupted);
  });
});
