import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeNeeding, type RunningProcess, showsLessWithout } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { allowInBrowser } from '../../support/cli/allow-in-browser.js';
import { hcloudCli, missingOf, missingPrograms } from '../../support/clients/client-programs.js';
import { commandBlocksOf } from '../../support/docs/documented-commands.js';
import { type DevFile, type DevTeam, npmStart } from '../../support/system/npm-start.js';
import { builtFile } from '../../support/system/program.js';

/* The commands of the pages for newcomers, as they are written, beside what `npm start` runs. */

/** The order matters: later pages use what one page makes. */
const PAGES = [
  'README.md',
  'docs/tour.md',
  'docs/how-to/my-app.md',
  'docs/how-to/name-on-a-cluster.md',
  'docs/how-to/give-read-access.md',
  'docs/how-to/terraform-in-ci.md',
  'docs/how-to/team-in-git.md',
  'docs/how-to/temporary-records.md',
  'docs/how-to/sleep-at-night.md',
  'docs/how-to/slow-writes.md',
  'docs/how-to/undo-a-change.md',
  'docs/how-to/dangling-names.md',
  'docs/how-to/machine-at-home.md',
  'docs/how-to/upgrade-kubernetes.md',
  'docs/how-to/sign-in-recipes.md',
  'docs/how-to/air-gapped.md',
  'docs/how-to/plain-machines.md',
  'docs/how-to/terraform-clusters.md',
];

/** What a reader does between two pages or blocks, where a page tells it in words. */
const BEFORE: Readonly<Record<string, string>> = {
  'docs/how-to/my-app.md': 'until ! corral clusters get web; do sleep 0.2; done 2> /dev/null',
  'docs/how-to/upgrade-kubernetes.md': `sed -i 's/"1.34"/"1.35"/' web.yaml`,
};

const cli = await hcloudCli();
showsLessWithout(missingOf(cli));
describe('the pages for newcomers', () => {
  it('are all how-to pages, and each has commands that run or say why they do not', () => {
    const howTo = readdirSync(builtFile('docs/how-to')).map((name) => `docs/how-to/${name}`);

    expect(PAGES).toEqual(expect.arrayContaining(howTo));
    expect(PAGES.filter((page) => commandBlocksOf(page).length === 0)).toEqual([]);
  });
});

describeNeeding(
  describe,
  missingPrograms('bash', 'curl', 'jq', 'dig', 'kubectl'),
  'the commands of the pages for newcomers',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'corral-docs-'));
    let running: RunningProcess;
    let dev: DevFile;

    beforeAll(async () => {
      chmodSync(folder, 0o755);
      for (const name of ['.corral', 'bin', 'home']) mkdirSync(join(folder, name), { mode: 0o755 });
      ({ running, dev } = await npmStart(join(folder, '.corral')));
      command('corral', 'cli');
      command('corral-admin', 'admin');
    }, 240_000);
    afterAll(async () => {
      await running?.stop({ timeoutMs: 60_000 });
      rmSync(folder, { recursive: true, force: true });
    });

    it.each(PAGES)(
      'succeed: %s',
      async (page) => {
        const hasProgram = (script: string) => cli.kind === 'found' || !/^hcloud /m.test(script);
        const blocks = commandBlocksOf(page).filter(({ noRun, script }) => noRun === null && hasProgram(script));
        const script = [BEFORE[page] ?? '', ...blocks.map(({ line, script }) => `: line ${line}\n${script}`)].join(
          '\n',
        );

        const { code, said } = await runAs(asHere(script));

        expect({ code, said: code === 0 ? '' : said }).toEqual({ code: 0, said: '' });
      },
      300_000,
    );

    function command(name: string, app: string): void {
      const text = `#!/bin/sh\nexec '${process.execPath}' '${builtFile(`apps/${app}/dist/main.js`)}' "$@"\n`;
      writeFileSync(join(folder, 'bin', name), text, { mode: 0o755 });
    }

    /** Puts in the addresses and secrets of this installation, for a person who says yes. */
    function asHere(script: string): string {
      const [{ dnsToken, admin }] = dev.teams as readonly [DevTeam];
      return script
        .replaceAll('npm run -s admin --', 'corral-admin')
        .replaceAll('npm run -s corral --', 'corral')
        .replaceAll(/HCLOUD_TOKEN=\w+/g, `HCLOUD_TOKEN=${dnsToken}`)
        .replaceAll(/COOKIE=sessionid=[\w-]+/g, `COOKIE=sessionid=${admin.sessionid}`)
        .replaceAll('http://127.0.0.1:41375/v1', dev.dnsUrl)
        .replaceAll('https://dns.example.org/v1', dev.dnsUrl)
        .replaceAll('http://127.0.0.1:40847', dev.baseUrl)
        .replaceAll('https://clusters.example.org', dev.baseUrl)
        .replaceAll('-p 40721', `-p ${dev.dnsServerPort}`)
        .replaceAll(/^corral servers join-command .*/gm, 'until $&; do sleep 0.2; done')
        .replaceAll(/corral (?:dns import|servers adopt|pools set|audit undo) (?!.*--dry-run)/g, '$&--yes ');
    }

    /** Runs a script in the folder of `npm start`, and signs in where a command asks for that. */
    function runAs(script: string): Promise<{ code: number | null; said: string }> {
      const [{ dnsToken, admin }] = dev.teams as readonly [DevTeam];
      const child = spawn('bash', ['--norc', '-exuo', 'pipefail', '-c', script], {
        cwd: folder,
        env: {
          PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
          HOME: join(folder, 'home'),
          DNS_TOKEN: dnsToken,
          HCLOUD_TOKEN: dnsToken,
          HCLOUD_ENDPOINT: dev.dnsUrl,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let said = '';
      const allowed = new Set<string>();
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (text: string) => {
          said += text;
          const page = /http\S+\/auth\/authorize\S+(?=\s)/.exec(text)?.[0];
          if (page === undefined || allowed.has(page)) return;
          allowed.add(page);
          void allowInBrowser(page, admin.email);
        });
      }
      return new Promise((resolve) => void child.once('close', (code) => resolve({ code, said })));
    }
  },
);
