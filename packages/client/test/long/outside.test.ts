import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from '@jest/globals';

describe('the package', () => {
  const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
  let project = '';
  afterAll(() => rm(project, { recursive: true, force: true }));

  it('is usable by a project that has nothing else of this repository, with the types that it promises', async () => {
    project = await mkdtemp(join(tmpdir(), 'corral-client-'));
    const installed = join(project, 'node_modules', '@corral', 'client');
    await mkdir(installed, { recursive: true });
    await cp(here('../../package.json'), join(installed, 'package.json'));
    await cp(here('../../dist'), join(installed, 'dist'), { recursive: true });
    await cp(here('../outside/uses.ts'), join(project, 'uses.ts'));
    const compilerOptions = {
      ...{ target: 'es2022', module: 'nodenext', lib: ['es2023', 'dom', 'dom.iterable'], types: [], noEmit: true },
      ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false },
    };
    await writeFile(join(project, 'package.json'), '{ "type": "module" }');
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['uses.ts'] }));

    const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
    const compile = promisify(execFile)(process.execPath, [compiler, '-p', project]);
    expect(await compile.catch(({ stdout }: { stdout: string }) => ({ stdout }))).toMatchObject({ stdout: '' });
  });
});
