import { describe, expect, it } from '@jest/globals';
import { parseSoakArguments } from './soak-arguments.js';

describe('the arguments of a soak', () => {
  it.each([
    [['dns'], 3],
    [['dns', '--minutes', '60'], 60],
    [['--minutes=0.5', 'dns'], 0.5],
  ])('%j', (args, minutes) => {
    expect(parseSoakArguments(args)).toEqual({ what: 'dns', minutes });
  });

  it.each([
    [[], 'Say what to soak'],
    [['clusters'], 'no soak "clusters"'],
    [['dns', 'dns'], 'no soak "dns dns"'],
    [['dns', '--minutes'], 'minutes'],
    [['dns', '--minutes', ''], 'not ""'],
    [['dns', '--minutes', 'ten'], 'not "ten"'],
    [['dns', '--minutes', '0'], 'above 0'],
    [['dns', '--minutes=-1'], 'above 0'],
    [['dns', '--minutes', 'Infinity'], 'at most'],
    [['dns', '--hours', '1'], '--hours'],
  ])('that are refused with the usage: %j', (args, reason) => {
    const refused = () => parseSoakArguments(args);
    expect(refused).toThrow(reason);
    expect(refused).toThrow('Usage: npm run soak -- dns [--minutes 3]');
  });
});
