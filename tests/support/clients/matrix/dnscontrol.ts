import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeNeeding } from '@corral/testing';
import { afterAll, describe, expect, it } from '@jest/globals';
import { ZONE } from '../../system/start-system.js';
import { type Ends, ownFolder, undo } from '../../system/system-parts.js';
import { missingOf } from '../client-programs.js';
import { callDns } from '../dns-api.js';
import { type ProvidedRow, type Surroundings, stageOf } from './describe-clients.js';
import { applyUntilDone, type Stage, settledSets } from './stage.js';
import { sorted, type WantedSet } from './wanted.js';

const IGNORED = /,\n[^\n]*\n[^\n]*IGNORE\([^)]*\)/;

/** What the files that the page shows do to what other clients of the team have made. */
export function describeDnscontrol(provided: ProvidedRow, surroundings: () => Surroundings): void {
  describeNeeding(describe, missingOf(provided.client), 'the files of DNSControl on the page', () => {
    const ends: Ends = [];
    afterAll(() => undo(ends));

    it('keep what they declare and the challenges of others; without IGNORE, a push deletes those too', async () => {
      const stage = await stageOf(provided, surroundings(), await ownFolder(ends));
      const { slug } = stage.team;
      const declared: WantedSet[] = [
        { name: slug, type: 'A', ttl: 300, values: ['192.0.2.10'] },
        { name: `www.${slug}`, type: 'A', ttl: 300, values: ['192.0.2.10'] },
        { name: `docs.${slug}`, type: 'CNAME', ttl: 300, values: [`www.${slug}.${ZONE}.`] },
        { name: slug, type: 'TXT', ttl: 3600, values: ['"v=spf1 -all"'] },
      ];
      const challenge: WantedSet = {
        name: `_acme-challenge.www.${slug}`,
        type: 'TXT',
        ttl: 60,
        values: ['"challenge"'],
      };
      await create(stage, challenge);
      await create(stage, { name: `manual.${slug}`, type: 'A', ttl: 60, values: ['192.0.2.99'] });

      await applyUntilDone(stage, null, { runsMax: 1 });
      expect(sorted(await settledSets(stage))).toEqual(sorted([...declared, challenge]));

      const file = join(stage.folder, 'dnsconfig.js');
      const text = await readFile(file, 'utf8');
      expect(text).toMatch(IGNORED);
      await writeFile(file, text.replace(IGNORED, ''));
      await applyUntilDone(stage, null, { runsMax: 1 });
      expect(sorted(await settledSets(stage))).toEqual(sorted(declared));
      await applyUntilDone(stage, [], { runsMax: 1 });
    });
  });
}

async function create({ system, team }: Stage, { name, type, ttl, values }: WantedSet): Promise<void> {
  const body = { name, type, ttl, records: values.map((value) => ({ value })) };
  const path = `/zones/${ZONE}/rrsets`;
  expect((await callDns(system.url, { method: 'POST', path, token: team.token, body })).status).toBe(201);
}
