import { ConfigError, readConfig } from '@corral/service';
import { describe, expect, it } from '@jest/globals';
import { contactVariables, tlsOptions, tlsVariables } from './server-variables.js';

const [certFile, keyFile] = ['/tls/tls.crt', '/tls/tls.key'];

/** The options of `serve`, or the missing variables. */
function read(env: Record<string, string>) {
  try {
    return tlsOptions(readConfig(tlsVariables, env));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ variable, problem }) => `${variable} ${problem}`);
  }
}

describe('TLS variables', () => {
  it.each([
    ['nothing', {}, undefined],
    ['both files', { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile }, { certFile, keyFile, port: undefined }],
    ['a port, too', { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, TLS_PORT: '0' }, { certFile, keyFile, port: 0 }],
    ['a certificate alone', { TLS_CERT_FILE: certFile }, ['TLS_KEY_FILE is missing']],
    ['a key alone', { TLS_KEY_FILE: keyFile }, ['TLS_CERT_FILE is missing']],
    ['a port alone', { TLS_PORT: '8443' }, ['TLS_CERT_FILE is missing', 'TLS_KEY_FILE is missing']],
  ])('given %s', (_given, env, expected) => {
    expect(read(env as Record<string, string>)).toEqual(expected);
  });
});

describe('the contact for vulnerabilities', () => {
  it.each([
    ['mailto:security@example.org', true],
    ['https://example.org/security', true],
    ['security@example.org', false],
    ['http://example.org/security', false],
    ['mailto:security@example.org\nExpires: never', false],
  ])('%s: %s', (contact, isAccepted) => {
    const read = () => readConfig(contactVariables, { SECURITY_CONTACT: contact }).SECURITY_CONTACT;

    if (isAccepted) expect(read()).toBe(contact);
    else expect(read).toThrow(ConfigError);
  });
});
