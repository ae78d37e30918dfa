import { describe, expect, it } from '@jest/globals';
import { readOptions } from './read-options.js';

describe('options from the environment', () => {
  it('omit unset variables so that defaults apply', () => {
    const options = readOptions({
      LOCAL_CLOUD_TOKENS: 'a, b',
      LOCAL_CLOUD_ZONES: 'example.net,demo.test',
      LOCAL_CLOUD_DATA_DIR: '',
    });

    expect(options).toEqual({
      tokens: ['a', 'b'],
      zones: [{ name: 'example.net' }, { name: 'demo.test' }],
      projectTokens: [],
      garden: {},
    });
  });

  it('are parsed as numbers where numbers are expected', () => {
    const options = readOptions({
      LOCAL_CLOUD_TOKENS: 'a',
      LOCAL_CLOUD_ZONES: 'example.net',
      LOCAL_CLOUD_API_PORT: '8080',
      LOCAL_CLOUD_ACTION_MS: '0',
    });

    expect(options).toMatchObject({ apiPort: 8080, actionMs: 0 });
  });

  it('include garden settings', () => {
    const options = readOptions({
      LOCAL_CLOUD_TOKENS: 'a',
      LOCAL_CLOUD_ZONES: 'example.net',
      LOCAL_CLOUD_PROJECT_TOKENS: 'b, c',
      LOCAL_CLOUD_GARDEN_PORT: '6443',
      LOCAL_CLOUD_SHOOT_PORT: '7443',
      LOCAL_CLOUD_GARDEN_CREATE_MS: '10',
    });

    expect(options).toMatchObject({
      projectTokens: ['b', 'c'],
      gardenPort: 6443,
      shootPort: 7443,
      garden: { createMs: 10 },
    });
  });

  it('are rejected with one message that names every invalid variable', () => {
    const read = () => readOptions({ LOCAL_CLOUD_TOKENS: ',', LOCAL_CLOUD_API_PORT: '70000' });

    expect(read).toThrow(/LOCAL_CLOUD_TOKENS/);
    expect(read).toThrow(/LOCAL_CLOUD_ZONES/);
    expect(read).toThrow(/LOCAL_CLOUD_API_PORT/);
  });
});
