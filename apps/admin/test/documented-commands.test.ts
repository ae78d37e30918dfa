import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { runAdmin } from '../src/run-admin.js';

const repository = fileURLToPath(new URL('../../..', import.meta.url));
const NO_DATABASE = 'No database is configured';

interface Documented {
  readonly where: string;
  readonly line: string;
}

/** Every command of this program in a document or in the chart, until the end of its line, of its code or of its sentence. */
function documented(): Documented[] {
  const listed = spawnSync('git', ['ls-files', '*.md', '*.txt', 'docker-compose.yml'], {
    cwd: repository,
    encoding: 'utf8',
  });
  return listed.stdout
    .split('\n')
    .filter((path) => path !== '' && path !== 'CHANGELOG.md')
    .flatMap((path) =>
      [
        ...readFileSync(join(repository, path), 'utf8').matchAll(
          /(?:npm run (?:-s )?admin --|run --rm admin|corral-admin(?: -- node dist\/main\.js)?) (?!-- node)([a-z-][^\n`|&]*)/g,
        ),
      ].map(([, line = '']) => ({ where: path, line })),
    );
}

/** Splits a line as a shell does. Placeholders become something of their kind. */
function wordsOf(line: string): string[] {
  const filled = line
    .replace(/\s[#>].*$/, '')
    .replaceAll(/"[^"]*\$\([^)]*\)[^"]*"/g, 'file')
    .replaceAll('<hold-id>', '5b0f8f0e-8f0e-4f0e-8f0e-5b0f8f0e8f0e')
    .replaceAll('<email>', 'ann@example.org')
    .replaceAll(/<[\w-]+>/g, 'acme')
    .replaceAll(/[.,;:)]+(?=\s|$)/g, '');
  return [...filled.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? '',
  );
}

describe('the commands in the documentation', () => {
  it('are many', () => {
    expect(documented().length).toBeGreaterThan(25);
  });

  it('are commands of this program, with arguments and options that it knows', async () => {
    const unknown: string[] = [];
    for (const { where, line } of documented()) {
      let err = '';
      const io = {
        env: {},
        folder: '/nowhere',
        migrationsDir: '/nowhere',
        stdout: new PassThrough(),
        out: () => undefined,
        err(text: string) {
          err += text;
        },
      };
      // Without a database, every command that can be read as one ends here.
      const code = await runAdmin(wordsOf(line), io);
      if (code !== 0 && !err.includes(NO_DATABASE)) unknown.push(`${where}: ${line} (${err.trim().split('\n')[0]})`);
    }

    expect(unknown).toEqual([]);
  });

  it('are told from others', async () => {
    const codeOf = (line: string) =>
      runAdmin(wordsOf(line), {
        env: {},
        folder: '/nowhere',
        migrationsDir: '/nowhere',
        stdout: new PassThrough(),
        out: () => undefined,
        err: () => undefined,
      });

    expect([
      await codeOf('team create <slug>'),
      await codeOf('team make <slug>'),
      await codeOf('team list --far'),
    ]).toEqual([1, 2, 2]);
  });
});
