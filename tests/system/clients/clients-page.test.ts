import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { fillPage, HOW } from '../../support/clients/matrix/page.js';
import { COMMAND, pinnedVersion, recordedResult } from '../../support/clients/matrix/results.js';
import { clientRows } from '../../support/clients/matrix/rows.js';
import { builtFile } from '../../support/system/program.js';

const file = builtFile('docs/clients.md');

describe('docs/clients.md', () => {
  it(`shows the recorded results, and the snippets that run; after changing them, run: ${HOW}`, () => {
    const page = readFileSync(file, 'utf8');
    const filled = fillPage(page);
    if (process.env.CORRAL_WRITE_DOCS) writeFileSync(file, filled);

    expect(process.env.CORRAL_WRITE_DOCS ? filled : page).toBe(filled);
  });

  it.each(clientRows.map((row) => [row.name, row] as const))('has a result of the pinned version of %s', (_, row) => {
    expect(recordedResult(row)).toMatchObject({
      client: row.name,
      version: pinnedVersion(row),
      ran: COMMAND,
    });
  });
});
