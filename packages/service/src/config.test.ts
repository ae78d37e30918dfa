import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ConfigError, describeConfig, readConfig } from './config.js';
import {
  durationMs,
  flag,
  hostsAndPorts,
  integer,
  list,
  oneOf,
  origins,
  portOrFree,
  secret,
  text,
  trustProxy,
  url,
  type Variable,
  wordsOf,
} from './config-variables.js';
import { installationVariables } from './shared-variables.js';

const desc = 'What it is for.';

function problemsOf(run: () => unknown) {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('The configuration was accepted.');
}

describe('readConfig', () => {
  it('returns typed values, defaults for absent variables, and undefined for optional ones', () => {
    const specs = {
      PORT: portOrFree({ desc, default: 8080 }),
      NAME: text({ desc }),
      REDIS_URL: url({ desc, protocols: ['redis'], default: undefined }),
    };

    const config = readConfig(specs, { NAME: ' corral ', UNRELATED: 'x' });

    expect(config).toEqual({ PORT: 8080, NAME: 'corral', REDIS_URL: undefined });
  });

  it('puts passwords with any character into their URLs', () => {
    const { DATABASE_URL, DATABASE_PASSWORD, REDIS_URL, REDIS_PASSWORD } = installationVariables;
    const password = `a:/?#[]@%41'"$\\&+ü z`;

    const config = readConfig(
      { DATABASE_URL, DATABASE_PASSWORD, REDIS_URL, REDIS_PASSWORD },
      {
        DATABASE_URL: 'postgresql://corral:old@db:5432/corral?sslmode=verify-full',
        DATABASE_PASSWORD: password,
        REDIS_URL: 'redis://redis:6379',
        REDIS_PASSWORD: password,
      },
    );

    const [database, redis] = [new URL(config.DATABASE_URL), new URL(config.REDIS_URL as string)];
    expect([database, redis].map((url) => decodeURIComponent(url.password))).toEqual([password, password]);
    expect([database.username, database.host, database.search]).toEqual(['corral', 'db:5432', '?sslmode=verify-full']);
  });

  it('treats an empty variable as absent', () => {
    const specs = { PORT: portOrFree({ desc, default: 8080 }), NAME: text({ desc }) };

    const error = problemsOf(() => readConfig(specs, { PORT: '', NAME: '  ' }));

    expect(error.problems.map(({ variable, problem }) => `${variable} ${problem}`)).toEqual(['NAME is missing']);
  });

  it('lists every invalid variable with its error and the expected format', () => {
    const specs = {
      PORT: portOrFree({ desc: 'Where it listens.' }),
      GRACE: durationMs({ desc: 'How long it waits.', default: 1000 }),
      NAME: text({ desc: 'Its name.', example: 'corral' }),
    };

    const error = problemsOf(() => readConfig(specs, { PORT: '99999', GRACE: 'soon' }));

    expect(error.message).toBe(
      [
        'The configuration has 3 error(s):',
        '  PORT is above 65535 (it is "99999"). Expected a port from 1 to 65535, or 0 for any free port (Where it listens).',
        '  GRACE is not a duration (it is "soon"). Expected a duration of at least 0 ms, such as 250ms, 10s, 5m, 12h or 7d (How long it waits).',
        '  NAME is missing. Expected text, for example corral (Its name).',
      ].join('\n'),
    );
  });

  it('requires an optional variable when another one makes it necessary', () => {
    const specs = {
      DEMOS: flag({ desc, default: false }),
      DEMO_ZONE: text({ desc, default: undefined, requiredWhen: (config) => config.DEMOS === true }),
    };

    expect(readConfig(specs, {}).DEMO_ZONE).toBeUndefined();
    expect(problemsOf(() => readConfig(specs, { DEMOS: 'true' })).problems[0]?.variable).toBe('DEMO_ZONE');
  });

  it.each([
    ['a short secret', secret({ desc }), 'hunter2'],
    ['a URL with a password', url({ desc, protocols: ['postgres'] }), 'postgresql+x://corral:hunter2@db/corral'],
    ['a text that is no URL', url({ desc }), 'hunter2'],
  ])('never repeats %s', (_what, spec, value) => {
    const error = problemsOf(() => readConfig({ GIVEN: spec }, { GIVEN: value }));

    expect(`${error.message}${error.stack}`).not.toContain('hunter2');
  });
});

describe('variables', () => {
  const read = (spec: Variable<unknown>, value: string): unknown => readConfig({ GIVEN: spec }, { GIVEN: value }).GIVEN;

  it.each<[string, Variable<unknown>, string, unknown]>([
    ['a duration without unit as milliseconds', durationMs({ desc }), '250', 250],
    ['a duration in days', durationMs({ desc }), '7d', 604_800_000],
    ['port 0', portOrFree({ desc }), '0', 0],
    ['a whole number', integer({ desc, min: 1, max: 5 }), '5', 5],
    ['a flag', flag({ desc }), 'TRUE', true],
    ['a list', list({ desc }), ' a, b ,,c', ['a', 'b', 'c']],
    ['some of the known words', wordsOf(['a', 'b'], { desc }), 'b, a', ['b', 'a']],
    [
      'origins',
      origins({ desc, default: [] }),
      'https://a.test, http://[::1]:3000',
      ['https://a.test', 'http://[::1]:3000'],
    ],
    [
      'hosts and ports',
      hostsAndPorts({ desc, default: [], port: 53 }),
      'ns1.a.test, 192.0.2.1:5353, [2001:db8::1]:54',
      [
        { host: 'ns1.a.test', port: 53 },
        { host: '192.0.2.1', port: 5353 },
        { host: '2001:db8::1', port: 54 },
      ],
    ],
    ['no proxy', trustProxy({ desc }), 'false', false],
    ['a number of proxies', trustProxy({ desc }), '2', 2],
    [
      'proxies by address',
      trustProxy({ desc }),
      'loopback, 10.0.0.0/8, fd00::1',
      ['loopback', '10.0.0.0/8', 'fd00::1'],
    ],
  ])('accept %s', (_what, spec, value, expected) => {
    expect(read(spec, value)).toEqual(expected);
  });

  it.each<[string, Variable<unknown>, string]>([
    ['a duration with another unit', durationMs({ desc }), '3 weeks'],
    ['a duration below the bound', durationMs({ desc, min: 100 }), '99'],
    ['a number above the bound', integer({ desc, max: 5 }), '6'],
    ['a flag that is neither', flag({ desc }), 'maybe'],
    ['an unknown word', oneOf(['info', 'debug'], { desc }), 'loud'],
    ['a URL with another protocol', url({ desc }), 'ftp://corral.example'],
    ['an origin with a path', origins({ desc, default: [] }), 'https://a.test/console'],
    ['every origin', origins({ desc, default: [] }), '*'],
    ['a host with a path', hostsAndPorts({ desc, default: [], port: 53 }), 'ns1.a.test/zone'],
    ['a host with a port that is none', hostsAndPorts({ desc, default: [], port: 53 }), 'ns1.a.test:dns'],
    ['trust in every client', trustProxy({ desc }), 'true'],
    ['a proxy that is not an address', trustProxy({ desc }), '10.0.0.0/33'],
  ])('refuse %s', (_what, spec, value) => {
    expect(problemsOf(() => read(spec, value)).problems).toHaveLength(1);
  });

  it('throw only ConfigError for any text', () => {
    const specs = {
      A: durationMs({ desc, default: 1 }),
      B: trustProxy({ desc, default: false }),
      C: url({ desc, default: undefined }),
      D: portOrFree({ desc, default: 1 }),
    };
    fc.assert(
      fc.property(fc.string(), (value) => {
        try {
          readConfig(specs, { A: value, B: value, C: value, D: value });
        } catch (error) {
          expect(error).toBeInstanceOf(ConfigError);
        }
      }),
    );
  });
});

describe('describeConfig', () => {
  const specs = {
    GRACE: durationMs({ desc: 'How long it waits.', default: 25_000 }),
    TOKEN: secret({ desc: 'The token of the upstream.' }),
    LEVEL: oneOf(['info', 'debug'], { desc: 'How much it says.', default: undefined }),
  };

  it('returns one row for each variable', () => {
    expect(describeConfig(specs)).toEqual([
      { name: 'GRACE', type: 'duration', default: '`25000`', unit: 'ms', description: 'How long it waits.' },
      { name: 'TOKEN', type: 'secret', default: 'required', unit: '', description: 'The token of the upstream.' },
      { name: 'LEVEL', type: 'info \\| debug', default: 'none', unit: '', description: 'How much it says.' },
    ]);
  });
});
