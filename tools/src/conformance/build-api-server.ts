import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Its errors have what the program said. */
const run = promisify(execFile);

const FILES = ['go.mod', 'go.sum', 'main.go'];
/** The linker sets the version that the server reports: that of the module. Clients such as Helm compare it. */
const VERSION = '1.36.3';
const LINKER_FLAGS = `-s -w -X k8s.io/component-base/version.gitVersion=v${VERSION}`;

/**
 * Builds a kube-apiserver from the Go module proxy, once per change of `tools/conformance/kube-apiserver`. It takes about
 * six minutes of CPU time, with one build at a time at low priority, as others may be using this machine.
 *
 * @returns the path of the program
 * @throws Error with the output of Go
 */
export async function buildApiServer(repository: string, say: (line: string) => void): Promise<string> {
  const folder = join(repository, 'tools', 'conformance', 'kube-apiserver');
  const hash = createHash('sha256').update(LINKER_FLAGS);
  for (const file of FILES) hash.update(readFileSync(join(folder, file)));
  const cache = join(repository, 'node_modules', '.cache', 'corral-conformance');
  const program = join(cache, `kube-apiserver-${hash.digest('hex').slice(0, 12)}`);
  if (existsSync(program)) return program;
  say('Building kube-apiserver, once; the first time that takes about ten minutes …');
  mkdirSync(cache, { recursive: true });
  const made = `${program}.${process.pid}`;
  await run('nice', ['-n', '15', 'go', 'build', '-p', '1', '-trimpath', '-ldflags', LINKER_FLAGS, '-o', made, '.'], {
    cwd: folder,
  });
  renameSync(made, program);
  return program;
}

/** The path of a program, or null if this machine does not have it. */
export async function findProgram(name: string, ...args: string[]): Promise<string | null> {
  return run(name, args).then(
    () => name,
    () => null,
  );
}
