import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { dnsErrorCodes, dnsErrorsBeforeRouting } from './error-codes.js';

describe('docs/errors.md', () => {
  it('lists every code with its status and meaning, and no other', () => {
    const page = readFileSync(new URL('../../../../docs/errors.md', import.meta.url), 'utf8');

    // The formatter pads table cells.
    const lines = page.split('\n').map((line) => line.replace(/ +/g, ' '));
    const listed = lines.filter((line) => /^\| \d{3} \|/.test(line));

    const ofOperations = Object.entries(dnsErrorCodes).map(([code, error]) => ({ code, ...error }));
    const all = [...ofOperations, ...dnsErrorsBeforeRouting].toSorted((one, other) => one.status - other.status);
    expect(listed).toEqual(all.map(({ status, code, meaning }) => `| ${status} | \`${code}\` | ${meaning} |`));
  });
});
