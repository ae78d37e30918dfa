import { describe, expect, it } from '@jest/globals';
import { isPublicAddress, issuerCalls } from './issuer-calls.js';

const calls = issuerCalls({ privateHosts: ['10.0.0.1', '*.k8s.test'], allowLoopback: false });

describe('an address', () => {
  it.each(['1.1.1.1', '140.82.112.3', '2606:4700::1111', '2a01:4f8::1'])('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each([
    '127.0.0.1',
    '0.0.0.0',
    '10.1.2.3',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '192.0.2.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:10.0.0.1',
    '::ffff:1.1.1.1',
    '64:ff9b::a00:1',
    'fe80::1',
    'fd00::1',
    'fec0::1',
    'ff02::1',
    '2001:db8::1',
    '2002:a00:1::1',
    'not an address',
  ])('%s is not public', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

describe('the URL of an issuer', () => {
  it.each(['https://id.example.org/realm', 'https://10.0.0.1:6443', 'https://api.k8s.test'])('%s is allowed', (url) => {
    expect(calls.refusalOfUrl(new URL(url))).toBeNull();
  });

  it.each([
    'http://id.example.org',
    'http://127.0.0.1:8080',
    'https://127.0.0.1',
    'https://2130706433',
    'https://0x7f.1',
    'https://[::1]',
    'https://[::ffff:169.254.169.254]',
    'https://10.0.0.2',
    'https://user:password@id.example.org',
    'ftp://id.example.org',
  ])('%s is refused', (url) => {
    expect(calls.refusalOfUrl(new URL(url))).not.toBeNull();
  });

  it('with a name that leads to this machine is not called', async () => {
    await expect(calls.readJson(new URL('https://localhost:1/keys'))).rejects.toThrow('no answer: error, connecting');
  });
});
