import { describe, expect, it } from '@jest/globals';
import { parseServerId } from '../../ids.js';
import { InvalidBody } from '../../parser-for.js';
import { isWipeAcknowledged, parseAdoptedServerPost } from './adopted-server.js';

const spec = { serverID: 4711, serverType: 'cx22', location: 'hel1', architecture: 'amd64', serverKind: 'cloud' };

const wrongPlaces = (body: unknown): string[] => {
  try {
    parseAdoptedServerPost(body);
    return [];
  } catch (error) {
    if (error instanceof InvalidBody) return error.fields.map(({ pointer }) => pointer);
    throw error;
  }
};

describe('the body that adopts a server', () => {
  it('requires every field of the specification', () => {
    expect(parseAdoptedServerPost({ spec, acknowledge: { confirm: 'WIPE' } })).toEqual({
      spec,
      acknowledge: { confirm: 'WIPE' },
    });
    for (const field of Object.keys(spec)) {
      expect(wrongPlaces({ spec: { ...spec, [field]: undefined } })).toEqual([`/spec/${field}`]);
    }
  });

  it.each<[string, unknown, string[]]>([
    ['no specification', {}, ['/spec']],
    ['an unknown field', { spec: { ...spec, image: 'ubuntu-24.04' } }, ['/spec/image']],
    ['a field beside the specification', { spec, force: true }, ['/force']],
    ['a number in quotes', { spec: { ...spec, serverID: '4711' } }, ['/spec/serverID']],
    ['an invalid server number', { spec: { ...spec, serverID: 0 } }, ['/spec/serverID']],
    ['a number that JavaScript would round', { spec: { ...spec, serverID: 2 ** 53 } }, ['/spec/serverID']],
    ['the provider’s word for an architecture', { spec: { ...spec, architecture: 'x86' } }, ['/spec/architecture']],
    ['an unknown kind', { spec: { ...spec, serverKind: 'virtual' } }, ['/spec/serverKind']],
  ])('is rejected with %s', (_what, body, places) => {
    expect(wrongPlaces(body)).toEqual(places);
  });

  it.each([
    undefined,
    null,
    true,
    'WIPE',
    {},
    { confirm: 'wipe' },
    { confirm: 'WIPE ' },
    ['WIPE'],
    { confirm: ['WIPE'] },
    { confirm: 'WIPE', force: true },
  ])('does not acknowledge the wipe with %j', (acknowledge) => {
    expect(isWipeAcknowledged(acknowledge)).toBe(false);
  });

  it('acknowledges the wipe with exactly the required words', () => {
    expect(isWipeAcknowledged(JSON.parse('{"confirm": "WIPE"}'))).toBe(true);
  });
});

describe('parseServerId', () => {
  it.each(['0', '01', '-1', '1.5', '1e3', '', 'web', '9007199254740992', '99999999999999999999'])(
    'rejects %j',
    (text) => {
      expect(parseServerId(text)).toBeNull();
    },
  );

  it('accepts a positive integer', () => {
    expect(parseServerId('4711')).toBe(4711);
    expect(parseServerId('9007199254740991')).toBe(Number.MAX_SAFE_INTEGER);
  });
});
