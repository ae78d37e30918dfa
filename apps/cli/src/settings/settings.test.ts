import { describe, expect, it } from '@jest/globals';
import { addressOf, clusterAccess, dnsAccess } from './settings.js';

const config = {
  currentContext: 'prod',
  contexts: {
    prod: {
      url: 'https://c.example',
      team: 'acme',
      session: 'session-of-ann',
      dnsUrl: 'https://d.example/v1',
      dnsToken: 'dns-token',
    },
    ci: { url: 'https://c.example', token: 'corral_token' },
  },
};
const of = (env: NodeJS.ProcessEnv = {}, more: { context?: string; team?: string } = {}) => ({ env, config, ...more });

describe('where commands go', () => {
  it('is the current context, and with --context or CORRAL_CONTEXT another one', () => {
    const prod = { url: 'https://c.example', credentials: { session: 'session-of-ann' }, team: 'acme' };
    const ci = { url: 'https://c.example', credentials: { bearer: 'corral_token' }, team: null };

    expect(clusterAccess(of())).toEqual(prod);
    expect(clusterAccess(of({}, { context: 'ci' }))).toEqual(ci);
    expect(clusterAccess(of({ CORRAL_CONTEXT: 'ci' }))).toEqual(ci);
    expect(clusterAccess(of({ CORRAL_CONTEXT: 'ci' }, { context: 'prod', team: 'globex' }))).toEqual({
      ...prod,
      team: 'globex',
    });
    expect(() => clusterAccess(of({}, { context: 'toString' }))).toThrow('There is no context toString.');
  });

  it('is what variables say, before the context', () => {
    const env = { CORRAL_URL: 'https://other.example/', CORRAL_TOKEN: 'corral_other', CORRAL_TEAM: 'globex' };

    expect(clusterAccess(of(env))).toEqual({
      url: 'https://other.example',
      credentials: { bearer: 'corral_other' },
      team: 'globex',
    });
    expect(dnsAccess(of({ CORRAL_DNS_TOKEN: 'another-token' }))).toEqual({
      url: 'https://d.example/v1',
      token: 'another-token',
    });
  });

  it('never takes the token of a context to another address', () => {
    expect(() => clusterAccess(of({ CORRAL_URL: 'https://evil.example' }))).toThrow(
      'There is no token for https://evil.example.',
    );
    expect(() => dnsAccess(of({ CORRAL_DNS_URL: 'https://evil.example/v1' }))).toThrow('There is no DNS token for');
  });

  it('needs an address', () => {
    const nowhere = { env: {}, config: { currentContext: null, contexts: {} } };

    expect(() => clusterAccess(nowhere)).toThrow('You are not signed in.');
    expect(dnsAccess(nowhere)).toBeNull();
    expect(() => dnsAccess({ ...nowhere, env: { CORRAL_DNS_TOKEN: 'dns-token' } })).toThrow(
      'CORRAL_DNS_TOKEN needs CORRAL_DNS_URL',
    );
  });
});

describe('a token', () => {
  it.each(['has space in', 'line\nbreak-in-it', 'ünïcode-token', 'short'])(
    'such as %j is refused, and not quoted',
    (token) => {
      const env = { CORRAL_URL: 'https://c.example', CORRAL_TOKEN: token };

      expect(() => clusterAccess(of(env))).toThrow('The token has characters that no token has');
      expect(() => clusterAccess(of(env))).not.toThrow(token);
    },
  );

  it.each([
    ['http://c.example', 'must begin with https://'],
    ['ftp://c.example', 'must begin with https://'],
    ['c.example', 'is no address'],
    ['https://user:pass@c.example', 'has parts that are no address'],
    ['https://c.example/?a=b', 'has parts that are no address'],
  ])('is not sent to %s', (url, message) => {
    expect(() => addressOf(url, 'CORRAL_URL', {})).toThrow(message);
  });

  it('is sent without TLS on this machine, or where that is permitted', () => {
    expect(addressOf('http://127.0.0.1:3000/', 'it', {})).toBe('http://127.0.0.1:3000');
    expect(addressOf('http://[::1]:3000/v1/', 'it', {})).toBe('http://[::1]:3000/v1');
    expect(addressOf('http://c.example', 'it', { CORRAL_ALLOW_HTTP: 'true' })).toBe('http://c.example');
  });
});
