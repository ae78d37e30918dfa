import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { fillPage, HOW } from '../../support/clients/matrix/page.js';
import { builtFile } from '../../support/system/program.js';

const file = builtFile('docs/clients.md');

it(`docs/clients.md shows how each client ends, and the snippets that run; after changing them, run: ${HOW}`, () => {
  const page = readFileSync(file, 'utf8');
  const filled = fillPage(page);
  if (process.env.CORRAL_WRITE_DOCS) writeFileSync(file, filled);

  expect(process.env.CORRAL_WRITE_DOCS ? filled : page).toBe(filled);
});
