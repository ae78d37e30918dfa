import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeNeeding } from '@corral/testing';
import { afterAll, describe, expect, it } from '@jest/globals';
import { type Ends, ownFolder, undo } from '../../system/system-parts.js';
import { missingOf } from '../client-programs.js';
import { type ProvidedRow, type Surroundings, stageOf } from './describe-clients.js';
import { registryOf } from './registry.js';
import { apply, applyUntilDone, countWrites, held, type Stage, settledSets } from './stage.js';
import { sorted, type WantedSet } from './wanted.js';

const VALUES = 'values.yaml';

/** What its registry promises in addition to what every client is shown to do. */
export function describeExternalDns(provided: ProvidedRow, surroundings: () => Surroundings): void {
  describeNeeding(describe, missingOf(provided.client), 'the TXT registry of ExternalDNS', () => {
    const ends: Ends = [];
    afterAll(() => undo(ends));

    /** @param change of the values of the chart, from what to what */
    async function stageWith(...change: [from: string, to: string] | []): Promise<Stage> {
      const stage = await stageOf(provided, surroundings(), await ownFolder(ends));
      const [from, to] = change;
      if (from === undefined || to === undefined) return stage;
      const values = await readFile(join(stage.folder, VALUES), 'utf8');
      expect(values).toContain(from);
      await writeFile(join(stage.folder, VALUES), values.replace(from, to));
      return stage;
    }
    const set = ({ team }: Stage, name: string, value: string): WantedSet => ({
      name: `${name}.${team.slug}`,
      type: 'A',
      ttl: 300,
      values: [value],
    });

    it('needs a replacement for the asterisk: without one, a wildcard is refused before anything of it is made', async () => {
      const stage = await stageWith('"--txt-wildcard-replacement=any", ', '');

      const { ok, said } = await apply(stage, [set(stage, '*.apps', '192.0.2.1')]);

      expect({ ok, said }).toMatchObject({ ok: false, said: expect.stringMatching(/reg-a\.\*\..*name is not valid/) });
      expect(await settledSets(stage)).toEqual([]);
    });

    it('keeps what another owner made, and what nobody owns', async () => {
      const [mine, other] = [await stageWith(), await stageWith('-production', '-staging')];
      const wanted = [set(mine, 'www', '192.0.2.1')];
      await applyUntilDone(mine, wanted, { runsMax: 1 });
      await mine.system.cloud.putRrset(`manual.${mine.team.slug}`, 'A', {
        records: [{ value: '192.0.2.2' }],
        ttl: 300,
      });
      await mine.system.admin('zone', 'sync');
      const before = await countWrites(mine);

      await applyUntilDone(other, [], { runsMax: 1 });
      await applyUntilDone(other, [set(other, 'www', '192.0.2.9')], { runsMax: 1 });
      await applyUntilDone(mine, [...wanted, set(mine, 'manual', '192.0.2.9')], { runsMax: 1 });

      expect(await countWrites(mine)).toBe(before);
      const manual = set(mine, 'manual', '192.0.2.2');
      expect(sorted(await settledSets(mine))).toEqual(sorted([...registryOf(wanted, mine), manual]));
      expect(await held(mine)).toMatchObject({ tainted: [expect.stringContaining('manual')] });
      await applyUntilDone(mine, [], { runsMax: 1 });
      expect(await settledSets(mine)).toEqual([manual]);
    });
  });
}
