import { describe, expect, it } from '@jest/globals';
import { type FaultRule, FaultRules } from './fault-rules.js';

const path = '/v1/zones/7001/rrsets?page=2';
const effect = { status: 503 };

describe('fault rules', () => {
  it.each<[string, FaultRule, boolean]>([
    ['without a match', { effect }, true],
    ['by method', { match: { method: 'get' }, effect }, true],
    ['by another method', { match: { method: 'POST' }, effect }, false],
    ['by path', { match: { path: '/rrsets$' }, effect }, true],
    ['by query', { match: { path: '/rrsets\\?page=2$' }, effect }, true],
    ['by another path', { match: { path: '/actions' }, effect }, false],
    ['for the actions of writes only', { effect: { actionError: { code: 'a', message: 'b' } } }, false],
    ['never', { probability: 0, effect }, false],
  ])('match %s', (_case, rule, hit) => {
    const rules = new FaultRules();
    rules.add([rule]);

    expect(rules.take('GET', path)).toEqual(hit ? effect : null);
  });

  it('apply once by default', () => {
    const rules = new FaultRules();
    rules.add([
      { effect: { status: 500 } },
      { times: 2, effect: { status: 502 } },
      { times: null, effect: { status: 503 } },
    ]);

    const statuses = Array.from({ length: 6 }, () => rules.take('GET', path)?.status);

    expect(statuses).toEqual([500, 502, 502, 503, 503, 503]);
    expect(rules.list().map(({ hits, remaining }) => [hits, remaining])).toEqual([
      [1, 0],
      [2, 0],
      [3, null],
    ]);
  });

  it('apply with their probability and otherwise fall through to the next rule', () => {
    const dice = [0.4, 0.6];
    const rules = new FaultRules(() => dice.shift() ?? 0);
    rules.add([
      { probability: 0.5, times: null, effect: { status: 500 } },
      { times: null, effect: { status: 502 } },
    ]);

    expect([rules.take('GET', path)?.status, rules.take('GET', path)?.status]).toEqual([500, 502]);
  });

  it.each([
    [{}],
    [{ effect: { explode: true } }],
    [{ effect, times: 0 }],
    [{ effect, probability: 2 }],
    [{ effect: { reset: 'never' } }],
    [{ effect, match: { path: '(' } }],
  ])('of another form are refused: %j', (rule) => {
    const rules = new FaultRules();

    expect(() => rules.add([{ effect }, rule as FaultRule])).toThrow();
    expect(rules.list()).toEqual([]);
  });
});
