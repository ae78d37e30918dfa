import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { builtFile } from '../../support/system/program.js';
import { HOW, MODELS_FILE, modelsText } from '../../support/terraform/models.js';

it(`the Terraform provider has the attributes of the OpenAPI document; otherwise run: ${HOW}`, () => {
  const file = builtFile(MODELS_FILE);
  if (process.env.CORRAL_WRITE_DOCS) writeFileSync(file, modelsText());

  expect(readFileSync(file, 'utf8')).toBe(modelsText());
});
