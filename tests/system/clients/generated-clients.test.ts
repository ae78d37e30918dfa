import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { missingOf } from '../../support/clients/client-programs.js';
import { pythonClient, pythonGenerator, typedClient } from '../../support/clients/generate-clients.js';

/*
 * Generators of other people make clients of the OpenAPI documents. They must not warn, and what they make must compile.
 * `npm run test:long -- clients` also uses these clients.
 */

const python = await pythonGenerator();
const TIMEOUT_MS = 300_000;

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-generated-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('types that openapi-typescript generates', () => {
  it(
    'compile, and are the same for the same things',
    async () => {
      expect(await typedClient(folder)).toMatchObject({ kind: 'found' });
    },
    TIMEOUT_MS,
  );
});

describeNeeding(describe, missingOf(python), 'the generator of clients in Python', () => {
  it(
    'makes clients that compile',
    async () => {
      expect(await pythonClient(python, folder)).toMatchObject({ kind: 'found' });
    },
    TIMEOUT_MS,
  );
});
