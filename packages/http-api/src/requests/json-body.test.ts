import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { findJsonFault } from './json-body.js';

const bounds = { depth: 16, entries: 2_000 };
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
const elements = (count: number, element: string) => `[${Array.from({ length: count }, () => element).join(', ')}]`;

/** A JSON value whose objects may have a member twice. */
type Tree = null | string | number | boolean | Tree[] | Members;
interface Members {
  readonly members: readonly (readonly [string, Tree])[];
}
const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    fc.oneof(
      fc.constant(null),
      fc.string({ unit: 'binary' }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
    ),
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.record({
      members: fc.array(fc.tuple(fc.oneof(fc.constantFrom('a', 'b', '"', '\\', ']'), fc.string()), tie('tree')), {
        maxLength: 4,
      }),
    }),
  ),
}));
const isMembers = (value: Tree): value is Members => typeof value === 'object' && value !== null && 'members' in value;

function print(value: Tree): string {
  if (Array.isArray(value)) return `[ ${value.map(print).join(' ,')}]`;
  if (!isMembers(value)) return JSON.stringify(value);
  return `{${value.members.map(([name, one]) => `${JSON.stringify(name)} :\n${print(one)}`).join(', ')} }`;
}
const childrenOf = (value: Tree): readonly Tree[] =>
  Array.isArray(value) ? value : isMembers(value) ? value.members.map(([, one]) => one) : [];
const isContainer = (value: Tree) => Array.isArray(value) || isMembers(value);
const depthOf = (value: Tree): number => (isContainer(value) ? 1 + Math.max(0, ...childrenOf(value).map(depthOf)) : 0);
const entriesOf = (value: Tree): number => childrenOf(value).reduce<number>((sum, one) => sum + 1 + entriesOf(one), 0);
const repeats = (value: Tree): boolean =>
  (isMembers(value) && new Set(value.members.map(([name]) => name)).size < value.members.length) ||
  childrenOf(value).some(repeats);

describe('a JSON text', () => {
  it('has its exact size measured', () => {
    fc.assert(
      fc.property(tree, (value) => {
        fc.pre(!repeats(value));
        const [text, depth, entries] = [print(value), depthOf(value), entriesOf(value)];

        expect(findJsonFault(text, { depth, entries })).toBeNull();
        if (depth > 0) expect(findJsonFault(text, { depth: depth - 1, entries })).toEqual({ kind: 'too_deep' });
        if (entries > 0) expect(findJsonFault(text, { depth, entries: entries - 1 })).toEqual({ kind: 'too_many' });
      }),
      { numRuns: 200 },
    );
  });

  it('with a duplicate member is detected at any depth, and no other text', () => {
    fc.assert(
      fc.property(tree, (value) => {
        expect(findJsonFault(print(value), bounds)?.kind).toBe(repeats(value) ? 'ambiguous' : undefined);
      }),
      { numRuns: 200 },
    );
  });

  it.each([
    ['as deep as it may be', nested(16), undefined],
    ['one deeper', nested(17), 'too_deep'],
    ['of open brackets', '['.repeat(1_000_000), 'too_deep'],
    ['of open objects', '{"a":'.repeat(200_000), 'too_deep'],
    ['with as many elements as it may have', elements(2_000, '{}'), undefined],
    ['with one more', elements(2_001, '{}'), 'too_many'],
    ['with one more that is a number', elements(2_001, '1'), 'too_many'],
    ['with many commas and nothing between them', `[${','.repeat(1_000_000)}]`, undefined],
    ['that is one long string of escapes', `"${'\\"'.repeat(500_000)}"`, undefined],
    ['that is a string without an end', `{"a":"${'\\\\'.repeat(500_000)}`, undefined],
    ['that closes what was never open', ']}'.repeat(500_000), undefined],
    ['of nothing', '', undefined],
  ])('%s is classified', (_what, text, kind) => {
    expect(findJsonFault(text, bounds)?.kind).toBe(kind);
  });

  it('of any kind is classified, JSON or not', () => {
    const unit = fc.constantFrom(...'[]{},:"\\ 1at\u0000\ud800');
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 200 }), (text) => {
        findJsonFault(text, bounds);
      }),
    );
  });
});
