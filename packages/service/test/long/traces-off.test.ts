import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const built = fileURLToPath(new URL('../../dist/index.js', import.meta.url));
/**
 * Prints what is asked for while modules are loaded. Not with `console.log`: hooks run in a thread of their own, whose output is
 * lost when the process ends first.
 */
const hooks = `import { writeSync } from 'node:fs';
export async function resolve(name, context, next) { writeSync(1, name + '\\n'); return next(name, context); }`;
const withHooks = `import { register } from 'node:module'; register(${JSON.stringify(`data:text/javascript,${hooks}`)});`;

function loadedWith(endpoint: string | undefined): string {
  const work = `
    const { currentTraceparent, inSpan, openSpan, startTracing } = await import(${JSON.stringify(built)});
    const { close } = await startTracing({ service: 's', endpoint: ${JSON.stringify(endpoint)},
      sampler: 'always_on', ratio: 1, onError() {} });
    const inside = await inSpan('work', {}, async (span) => [span === null, currentTraceparent() === null]);
    console.log(JSON.stringify([openSpan('x') === null, ...inside]));
    await close();`;
  const args = [
    '--import',
    `data:text/javascript,${encodeURIComponent(withHooks)}`,
    '--input-type=module',
    '--eval',
    work,
  ];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

describe('a process without a receiver of traces', () => {
  it('loads no library for traces, and makes no spans', () => {
    const output = loadedWith(undefined);

    expect(output).toContain('traces.js');
    expect(output).not.toContain('@opentelemetry');
    expect(output).toContain('[true,true,true]');
  });

  it('differs from one with a receiver', () => {
    const output = loadedWith('http://127.0.0.1:1');

    expect(output).toContain('@opentelemetry/sdk-trace');
    expect(output).toContain('[false,false,false]');
  });
});
