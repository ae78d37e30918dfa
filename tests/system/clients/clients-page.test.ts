import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { fillPage, HOW, pinnedVersion } from '../../support/clients/matrix/page.js';
import { clientRows } from '../../support/clients/matrix/rows.js';
import { builtFile } from '../../support/system/program.js';

const file = builtFile('docs/clients.md');

it(`docs/clients.md shows how each client ends, and the snippets that run; after changing them, run: ${HOW}`, () => {
  const page = readFileSync(file, 'utf8');
  const filled = fillPage(page);
  if (process.env.CORRAL_WRITE_DOCS) writeFileSync(file, filled);

  expect(process.env.CORRAL_WRITE_DOCS ? filled : page).toBe(filled);
});

it.each(clientRows)(
  '$name ran with the version that is pinned; after raising it: npm run test:long -- clients',
  (row) => {
    expect(row.ranWith).toBe(pinnedVersion(row));
  },
);
