import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { CorralError } from '@corral/client';
import { planChanges, type WantedSet } from '@corral/domain';
import { markdownTable } from '@corral/testing';
import { describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { newEntries } from '../src/audit/new-entries.js';
import { planText } from '../src/dns/plan-text.js';
import { exitCodes } from '../src/exit-codes.js';
import { clusterCommands, dnsCommands } from '../src/operation-commands.js';
import { failureText } from '../src/output/failure-text.js';
import { buildProgram } from '../src/run-cli.js';
import { runCorral } from './support/run-corral.js';

const context = { zoneName: 'example.test', ownerLabel: 'acme', records: { used: 2, reserved: 0, limit: 10 } };
const records = (...values: string[]) => values.map((value) => ({ value, comment: null }));
const rrset = (name: string, type: string, value: string) => ({
  id: `${name}/${type}`,
  name,
  type,
  ttl: 300,
  labels: {},
  protection: { change: false },
  records: [{ value, comment: '' }],
  zone: 1,
});
const plain = (_style: unknown, text: string) => text;
const textOf = (wanted: WantedSet[]) =>
  planText(
    planChanges([rrset('www.acme', 'A', '192.0.2.1'), rrset('old.acme', 'A', '192.0.2.9')], wanted, context),
    plain,
  );

describe('a plan', () => {
  it('shows what is added, changed, removed and refused, and how much there is afterwards', () => {
    const text = textOf([
      {
        name: 'www.acme',
        type: 'A',
        content: { records: records('192.0.2.1', '192.0.2.2'), ttl: null, labels: { env: 'prod' } },
      },
      { name: 'api.acme', type: 'CNAME', content: { records: [{ value: 'www.acme', comment: 'why' }], ttl: 60 } },
      { name: 'old.acme', type: 'A', content: null },
      { name: 'www.globex', type: 'A', content: { records: records('192.0.2.3'), ttl: null }, source: 'line 4' },
    ]);

    expect(text).toBe(
      [
        '~ www.acme A',
        '    + 192.0.2.2',
        '    ttl 300 s → default',
        '    labels none → env=prod',
        '+ api.acme CNAME  ttl 60 s',
        '    + www.acme  ; why',
        '- old.acme A',
        '    - 192.0.2.9',
        '! www.globex A (line 4): The name does not belong to you. You can write acme and names below it.',
        '1 to add, 1 to change, 1 to remove, 1 refused. 3 records afterwards.',
        '',
      ].join('\n'),
    );
  });

  it('cannot move the cursor of a terminal', () => {
    const text = textOf([
      { name: 'x.acme', type: 'TXT', content: { records: records('"a\r\u0007b\u202e\u001b[2J"'), ttl: null } },
    ]);

    expect(text).toContain('+ "a??b??[2J"');
  });
});

const refused = (detail: string, errors: CorralError['errors']) =>
  failureText(new CorralError({ status: 422, code: 'validation_failed', detail, errors }));

describe('the text of a refusal', () => {
  it('names a field of the DNS API as that API spells it', () => {
    const errors = [{ pointer: '/records/0/value', message: 'must not be empty' }];

    expect(refused('The request is not valid.', errors)).toBe(
      'The request is not valid. records[0].value must not be empty. (validation_failed)',
    );
  });

  it('says each sentence once', () => {
    const detail = 'spec.nodePools[0].minimum must be at most the maximum, 3.';
    const errors = [{ pointer: '/spec/nodePools/0/minimum', message: 'must be at most the maximum, 3', detail }];

    expect(refused(detail, errors)).toBe(`${detail} (validation_failed)`);
  });
});

it.each(['abc', '0', '-1', '9007199254740993'])('says that %s is no number of a server', async (number) => {
  const env = { CORRAL_URL: 'http://127.0.0.1:1', CORRAL_TOKEN: 'corral_token' };

  const { code, err } = await runCorral(['--team', 'acme', 'servers', 'get', 'main', '--', number], { env });

  expect([code, err]).toEqual([exitCodes.usage.code, expect.stringContaining('The number of a server is')]);
});

it('gives each entry once, and again when its outcome is known', () => {
  const news = newEntries();
  const entry = (id: string, outcome: string) => ({ id, outcome });

  expect(news([entry('1', 'completed'), entry('2', 'pending')])).toHaveLength(2);
  expect(news([entry('1', 'completed'), entry('2', 'pending'), entry('3', 'refused')])).toEqual([
    entry('3', 'refused'),
  ]);
  expect(news([entry('1', 'completed'), entry('2', 'settled')])).toEqual([entry('2', 'settled')]);
});

const repository = fileURLToPath(new URL('../../../', import.meta.url));
const pageOf = (path: string) => readFileSync(join(repository, path), 'utf8');

/** Every command of this program in a document, until the end of its line, of its code or of its sentence. */
function documented(): { readonly where: string; readonly line: string }[] {
  const { stdout } = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
    cwd: repository,
    encoding: 'utf8',
  });
  return stdout
    .split('\n')
    .filter((path) => path !== '')
    .flatMap((path) =>
      [...pageOf(path).matchAll(/(?:\$ |\(|`|run -s )corral (?:-- )?((?!—)[a-z-][^\n`|)]*)/g)].map(([, line = '']) => ({
        where: path,
        line,
      })),
    );
}

/** Splits a line as a shell does, without redirections and comments. */
const wordsOf = (line: string): string[] =>
  [...line.replace(/\s(#|[<>]).*$/, '').matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)]
    .map(([, single, double, plain]) => single ?? double ?? plain ?? '')
    .map((word) => word.replace(/[.,;:]+$/, ''));

describe('the commands in the documentation', () => {
  it('are many', () => {
    expect(documented().length).toBeGreaterThan(25);
  });

  it('are commands of this program, with arguments and options that it knows', async () => {
    const unknown: string[] = [];
    for (const { where, line } of documented()) {
      const errors = new PassThrough();
      const program = buildProgram({ out: new PassThrough(), err: errors }, () => async () => undefined);
      const words = wordsOf(line);
      // A name of a command in a sentence, without its arguments.
      if (words.length <= 2 && !/\$/.test(line)) continue;
      if (words[0] === 'completion') continue;
      await program.parseAsync(words, { from: 'user' }).catch((error: { exitCode: number }) => {
        if (error.exitCode !== 0) unknown.push(`${where}: ${line}: ${String(errors.read())}`);
      });
    }
    expect(unknown).toEqual([]);
  });
});

it('documents every exit code', () => {
  const rows = [...pageOf('docs/cli.md').matchAll(/^\| (\d+) +\| (.*?) +\|$/gm)].map(([, code, meaning]) => [
    Number(code),
    meaning,
  ]);

  expect(rows).toEqual(Object.values(exitCodes).map(({ code, meaning }) => [code, meaning]));
});

describe('each operation of the APIs', () => {
  it('has a command that exists, unless only a browser or another system calls it', () => {
    const streams = { out: new PassThrough(), err: new PassThrough() };
    const commands = commandsOf(buildProgram(streams, () => async () => undefined));
    const named = Object.values({ ...clusterCommands, ...dnsCommands }).filter((words) => words !== null);
    expect(commands).toEqual(expect.arrayContaining(named));
  });

  it('stands in docs/cli.md with its command; otherwise run: CORRAL_WRITE_DOCS=1 npm test -- cli output', () => {
    const between = /(?<=<!-- operations -->\n)[\s\S]*(?=<!-- \/operations -->)/;
    if (process.env.CORRAL_WRITE_DOCS)
      writeFileSync(join(repository, 'docs/cli.md'), pageOf('docs/cli.md').replace(between, table()));
    expect(between.exec(pageOf('docs/cli.md'))?.[0]).toBe(table());
  });
});

/** The words of each command that does something, such as `clusters list`. */
function commandsOf(command: Command, before: readonly string[] = []): string[] {
  return command.commands.flatMap((child) => {
    const words = [...before, child.name()];
    return [words.join(' '), ...commandsOf(child, words)];
  });
}

function table(): string {
  const rows = (api: string, all: Readonly<Record<string, string | null>>) =>
    Object.entries(all).map(([operation, words]) => [api, `\`${operation}\``, words === null ? '–' : `\`${words}\``]);
  return `${markdownTable(['API', 'operation', 'command'], [...rows('clusters', clusterCommands), ...rows('DNS', dnsCommands)])}\n`;
}
