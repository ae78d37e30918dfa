import { describe, expect, it } from '@jest/globals';
import { parseLongArguments } from './long-arguments.js';

describe('the arguments of a long test', () => {
  it.each([
    [['system'], ['tests', 'long/system'], { CORRAL_TEST_LONG: '1' }, 1],
    [['packages'], ['/test/long/'], { CORRAL_TEST_LONG: '1' }, 1],
    [['system', 'dns', '--times', '2'], ['tests', 'long/system/dns'], { CORRAL_TEST_LONG: '1' }, 2],
    [
      ['crash'],
      [
        ...['tests', 'system/clusters/cluster-crash', 'system/dns/dns-crash', 'long/dns-crash-without-redis'],
        'long/system/clusters/pools-on-servers',
      ],
      { CORRAL_CRASH_MINUTES: '30', CORRAL_TEST_LONG: '1' },
      1,
    ],
    [
      ['crash', 'clusters', '--minutes', '60'],
      ['tests', 'system/clusters/cluster-crash'],
      { CORRAL_CRASH_MINUTES: '60', CORRAL_TEST_LONG: '1' },
      1,
    ],
    [
      ['crash', '--times=2', 'dns'],
      ['tests', 'system/dns/dns-crash', 'long/dns-crash-without-redis'],
      { CORRAL_CRASH_MINUTES: '30', CORRAL_TEST_LONG: '1' },
      2,
    ],
    [['soak'], ['tests', 'system/dns/dns-crash.test'], { CORRAL_SOAK_MINUTES: '9' }, 1],
    [['soak', '--minutes=0.5'], ['tests', 'system/dns/dns-crash.test'], { CORRAL_SOAK_MINUTES: '0.5' }, 1],
    [['orders'], ['--random-order'], {}, 3],
    [['orders', '--times', '10'], ['--random-order'], {}, 10],
    [['stalls', '--times', '2'], ['tests', 'long/hostile-bodies'], { CORRAL_TEST_LONG: '1' }, 2],
  ])('runs the tests of %j', (args, testArgs, env, times) => {
    expect(parseLongArguments(args)).toMatchObject({ run: { args: testArgs, env }, times });
  });

  it.each([
    [['everything'], 'no part "everything"'],
    [['crash', 'mail'], '"mail" is not one of clusters, dns, servers'],
    [['crash', 'dns', 'clusters'], '"dns clusters" is not one of'],
    [['crash', '--minutes', 'ten'], 'not "ten"'],
    [['soak', '--minutes', '0'], 'above 0'],
    [['soak', '--minutes', 'Infinity'], 'at most'],
    [['soak', 'dns'], 'Unexpected argument "dns"'],
    [['soak', '--hours', '1'], '--hours'],
    [['orders', '--times', '0'], 'from 1'],
    [['orders', '--minutes', '5'], '--minutes'],
  ])('refuses %j, with the usage', (args, reason) => {
    const refused = () => parseLongArguments(args);
    expect(refused).toThrow(reason);
    expect(refused).toThrow('Usage: npm run test:long');
  });
});
