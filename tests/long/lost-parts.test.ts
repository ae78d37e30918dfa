import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeNeeding, waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { certifyUpstreamName, ownUpstreamName, UPSTREAM_NAME } from '../support/clients/built-in-name.js';
import { missingPrograms } from '../support/clients/client-programs.js';
import { callDns } from '../support/clients/dns-api.js';
import { commandBlocksOf } from '../support/docs/documented-commands.js';
import { untilSettled } from '../support/system/mirror.js';
import { builtFile } from '../support/system/program.js';
import { type System, startSystem, type Team, ZONE } from '../support/system/start-system.js';
import { type Ends, undo } from '../support/system/system-parts.js';

/* The runbook for lost parts, with its own commands. Only hosts, passwords and pauses are replaced. */

const PAGE = 'docs/runbooks/replace-lost-parts.md';
const blocksOf = (section: string) => commandBlocksOf(PAGE, section).map(({ script }) => script);

describeNeeding(
  describe,
  missingPrograms('psql', 'jq', 'curl', 'bash', 'openssl'),
  'the runbook for lost parts',
  () => {
    const ends: Ends = [];
    let system: System;
    let folder: string;
    let tlsPort: number;
    beforeAll(async () => {
      const name = await ownUpstreamName(ends);
      ({ folder, port: tlsPort } = name);
      system = await startSystem({ gatewayEnv: name.gatewayEnv });
      ends.push(system.stop);
    });
    afterAll(() => undo(ends));

    it('gives a zone its content back from the mirror, without a difference', async () => {
      const team = system.teams[0] as Team;
      const sets = [
        {
          name: 'www.acme',
          type: 'A',
          ttl: 300,
          records: [{ value: '192.0.2.1', comment: 'first' }, { value: '192.0.2.2' }],
        },
        { name: '*.acme', type: 'AAAA', records: [{ value: '2001:db8::1' }], labels: { env: 'prod' } },
        { name: 'text.acme', type: 'TXT', records: [{ value: '"a \\"quoted\\" $HOME `id` \'text\' \\\\ end"' }] },
      ];
      for (const body of sets) {
        const created = await callDns(system.url, {
          method: 'POST',
          path: `/zones/${ZONE}/rrsets`,
          token: team.token,
          body,
        });
        expect(created.status).toBe(201);
      }
      await untilSettled(system);
      const before = await system.cloud.stated();
      const [readMirror = '', writeZone = ''] = blocksOf('Content of the zone');

      // Somebody empties the zone.
      for (const reconciler of system.reconcilers) await reconciler.stop();
      await system.admin('hold', 'begin');
      for (const id of before.keys()) {
        const [name, type] = id.split('/') as [string, string];
        if (name !== '@') await system.cloud.admin('DELETE', `/rrsets/${ZONE}/${encodeURIComponent(name)}/${type}`);
      }
      expect(await system.cloud.namesIn(ZONE)).toEqual([]);

      writeFileSync(join(folder, 'token.txt'), system.cloud.token);
      run(
        readMirror
          .replace(/PGPASSWORD=.*--dbname=corral/, `psql --dbname='${system.databaseUrl}'`)
          .replace('example.org', ZONE),
      );
      run(
        writeZone
          .replace('https://api.hetzner.cloud/v1/zones/example.org', `${system.cloud.apiUrl}/zones/${ZONE}`)
          .replace('sleep 1', 'true'),
      );

      expect(sorted(await system.cloud.stated())).toEqual(sorted(before));
      for (const reconciler of system.reconcilers) await reconciler.start();
      for (const reconciler of system.reconcilers) await reconciler.untilReady();
      const synced = await system.admin('--json', 'zone', 'sync');
      expect(JSON.parse(synced)).toMatchObject({ added: 0, changed: 0, removed: 0 });
    });

    it('shows clients a renewed certificate without a restart', async () => {
      const [inspect = ''] = blocksOf('Certificate');
      const seen = () =>
        run(inspect.replace('dns.example.org:443', `127.0.0.1:${tlsPort}`).replace('dns.example.org', UPSTREAM_NAME));
      const before = seen();
      expect(before).toMatch(/notAfter=/);

      // The dates of a certificate have no fractions of a second.
      await waitFor('a certificate with another date', async () => {
        await certifyUpstreamName(folder);
        return seen() !== before;
      });
    });

    it('makes a secret key that the services accept', async () => {
      const [, command = ''] = /`(echo "\$\(date[^`]*)`/.exec(readFileSync(builtFile(PAGE), 'utf8')) ?? [];
      const made = run(command).trim();

      // A name, and 32 bytes in base64.
      expect(made).toMatch(/^\d{6}:[A-Za-z0-9+/]{43}=$/);
    });

    function run(script: string): string {
      const { status, stderr, stdout } = spawnSync('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
        cwd: folder,
        encoding: 'utf8',
      });
      if (status !== 0) throw new Error(`${script}\n${stdout}${stderr}`);
      return stdout;
    }
  },
);

/** Leaves out the SOA, whose serial counts changes. */
const sorted = (stated: ReadonlyMap<string, string>) => [...stated].filter(([id]) => id !== '@/SOA').sort();
