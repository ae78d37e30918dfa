import { describe, expect, it } from '@jest/globals';
import { parseReleaseArguments } from './release-arguments.js';

const parse = (...args: string[]) => parseReleaseArguments(args, '/checkout');

describe('the arguments of a release', () => {
  it.each(['1.0.0', '1.0.0-rc.1', '0.10.0', '2.0.0-alpha'])('accept the version %s', (version) => {
    expect(parse(version)).toMatchObject({ version, out: '/checkout/dist/release' });
  });

  it.each(['', 'v1.0.0', '1.0', '1.0.0+build', '01.0.0', '1.0.0-rc.01', '1.0.0; rm'])('refuse "%s"', (version) => {
    expect(() => parse(version)).toThrow('is not one version');
  });

  it('make single files for every platform, or for those that are named', () => {
    expect(parse('1.0.0').platforms).toEqual(['linux-amd64', 'linux-arm64', 'darwin-amd64', 'darwin-arm64']);
    expect(parse('1.0.0', '--platform', 'linux-arm64').platforms).toEqual(['linux-arm64']);
    expect(() => parse('1.0.0', '--platform', 'windows')).toThrow('There is no platform "windows"');
  });
});
