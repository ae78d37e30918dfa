import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { kindsFile } from '../../../support/kubernetes/chart.js';
import { extractKinds } from '../../../support/kubernetes/extract-kinds.js';

it('the schemas of the kinds are those of their sources', () => {
  const extracted = extractKinds();
  if (extracted === null) throw new Error('The sources could not be read: this needs Go and a module proxy.');
  const text = `${JSON.stringify(extracted)}\n`;
  if (process.env.CORRAL_WRITE_DOCS) writeFileSync(kindsFile, text);

  expect(JSON.parse(readFileSync(kindsFile, 'utf8'))).toEqual(extracted);
});
