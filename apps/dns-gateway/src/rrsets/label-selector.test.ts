import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fitsLabels, type Labels, parseLabelSelector } from './label-selector.js';

const labels = { env: 'prod', 'example.com/tier': 'web', empty: '' };
const matches = (selector: string, of: Labels = labels) => {
  const requirements = parseLabelSelector(selector);
  return requirements && fitsLabels(requirements, of);
};

describe('a label selector', () => {
  it.each([
    ['env', true],
    ['stage', false],
    ['empty', true],
    ['!stage', true],
    ['! stage', true],
    ['!env', false],
    ['env=prod', true],
    ['env==prod', true],
    ['env = prod', true],
    [' env=prod ', true],
    ['env=test', false],
    ['stage=prod', false],
    ['env!=test', true],
    ['env!=prod', false],
    ['stage!=prod', true],
    ['empty=', true],
    ['env=', false],
    ['stage=', false],
    ['stage!=', true],
    ['example.com/tier=web', true],
    ['env in (prod)', true],
    ['env in (test, prod)', true],
    ['env in(test,prod)', true],
    ['env in (test)', false],
    ['stage in (prod)', false],
    ['empty in ()', true],
    ['env notin (test)', true],
    ['env notin (prod,test)', false],
    ['stage notin (prod)', true],
    ['env=prod,!stage', true],
    ['env=prod, empty ,example.com/tier in (web,db)', true],
    ['env=prod,stage', false],
    ['in', false],
    ['notin=x', false],
    ['toString', false],
    ['!constructor', true],
    ['__proto__!=x', undefined],
  ])('%j matching the labels is %j', (selector, expected) => {
    expect(matches(selector)).toBe(expected);
  });

  it.each([
    '',
    ' ',
    ',',
    'env,',
    ',env',
    'env,,stage',
    '=',
    '=prod',
    '!',
    '!!env',
    '!env=prod',
    'env===prod',
    'env=a=b',
    'env in',
    'env in prod',
    'env in (a',
    'env in a)',
    'env in (a))',
    'env in ((a))',
    'env in (a b)',
    'envin(a)',
    'env IN (a)',
    'env > 1',
    'en v',
    'env=pr od',
    '-env',
    'env-',
    'env=-a',
    'env\0',
    'énv',
    'env=é',
    'env;stage',
    'x'.repeat(2_049),
  ])('%j is not a valid selector', (text) => {
    expect(parseLabelSelector(text)).toBeUndefined();
  });

  it('follows the grammar for any combination and spacing', () => {
    const keys = ['a', 'b', 'x/c'];
    const values = ['', '1', 'two'];
    const key = fc.constantFrom(...keys);
    const value = fc.constantFrom(...values);
    const space = fc.constantFrom('', ' ', '  ');
    const present = (of: Labels, name: string) => Object.keys(of).includes(name);
    type Requirement = { text: string; holds: (of: Labels) => boolean };
    const requirement: fc.Arbitrary<Requirement> = fc.oneof(
      key.map((k) => ({ text: k, holds: (of: Labels) => present(of, k) })),
      fc.tuple(key, space).map(([k, s]) => ({ text: `!${s}${k}`, holds: (of: Labels) => !present(of, k) })),
      fc.tuple(key, value, space, fc.constantFrom('=', '==', '!=')).map(([k, v, s, operator]) => ({
        text: `${k}${s}${operator}${s}${v}`,
        holds: (of: Labels) => (of[k] === v) !== (operator === '!='),
      })),
      fc
        .tuple(key, fc.array(value, { minLength: 1, maxLength: 3 }), space, fc.constantFrom('in', 'notin'))
        .map(([k, all, s, operator]) => ({
          text: `${k} ${operator}${s}(${all.join(`${s},${s}`)})`,
          holds: (of: Labels) => (present(of, k) && all.includes(of[k] as string)) === (operator === 'in'),
        })),
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(space, requirement, space), { minLength: 1, maxLength: 4 }),
        fc.dictionary(key, value),
        (parts, of) => {
          const selector = parts.map(([before, { text }, after]) => before + text + after).join(',');
          expect(matches(selector, of)).toBe(parts.every(([, { holds }]) => holds(of)));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('never throws and always terminates for any text', () => {
    // A backtracking expression would not finish one of these within the test timeout.
    const hostile = fc
      .tuple(fc.constantFrom('a', 'a.', '(', ',', 'a,', 'a in (', ' ', '!', '=', 'a/-'), fc.nat({ max: 2_048 }))
      .map(([part, times]) => part.repeat(times).slice(0, 2_048));
    fc.assert(
      fc.property(fc.oneof(hostile, fc.string({ unit: 'binary', maxLength: 200 })), (text) => {
        matches(text);
      }),
    );
  });
});
