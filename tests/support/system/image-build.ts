import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Copy, DockerfileParser, type From } from 'dockerfile-ast';
import { runCommand } from '../clients/run-command.js';

/** A command that builds everything on a busy machine. */
const RUN_MS = 900_000;

export interface Rehearsal {
  /** The folder that serves as the root of the file system. */
  readonly root: string;
  /** The folder of a stage. If several have the name, the last one counts. */
  inStage(stage: string, path: string): string;
}

interface Stage {
  readonly name: string;
  readonly base: string;
  readonly folder: string;
  workdir: string;
}

/**
 * Does what `docker build` would do, in folders: each stage is a folder, COPY copies the files that git tracks or would
 * track, and RUN runs in the working directory of the stage, with absolute paths of the file mapped into the folder.
 */
export async function rehearseBuild(
  repository: string,
  dockerfile: string,
  stages: readonly string[],
): Promise<Rehearsal> {
  const root = mkdtempSync(join(tmpdir(), 'corral-image-'));
  const context = join(root, 'context');
  copyTracked(repository, context);
  cpSync(join(repository, '.gitignore'), join(root, '.gitignore'));
  spawnSync('git', ['init', '--quiet'], { cwd: root });
  const built = new Map<string, Stage>();
  let stage: Stage | undefined;
  for (const instruction of DockerfileParser.parse(dockerfile).getInstructions()) {
    const keyword = instruction.getKeyword();
    if (keyword === 'FROM') {
      const from = instruction as From;
      const base = built.get(from.getImage() ?? '');
      const name = from.getBuildStage() ?? '';
      stage = { name, base: base?.name ?? '', folder: join(root, name), workdir: base?.workdir ?? '/' };
      built.set(name, stage);
      mkdirSync(join(stage.folder, stage.workdir), { recursive: true });
      continue;
    }
    if (stage === undefined || !stages.includes(stage.name)) {
      if (keyword === 'WORKDIR' && stage !== undefined) stage.workdir = instruction.getArgumentsContent() ?? '/';
      continue;
    }
    const text = instruction.getArgumentsContent() ?? '';
    if (keyword === 'WORKDIR') {
      stage.workdir = text;
      mkdirSync(join(stage.folder, text), { recursive: true });
    } else if (keyword === 'COPY') {
      // `getFromFlag` finds the flag only where it is the only one.
      const flags = (instruction as Copy).getFlags();
      const from = flags.find((flag) => flag.getName() === 'from')?.getValue();
      copyInto(stage, from == null ? context : join(root, from), wordsOf(instruction));
    } else if (keyword === 'RUN') {
      commitAll(root);
      await runIn(stage, { root, turboCache: join(repository, '.turbo', 'cache') }, text);
    }
  }
  return { root, inStage: (name, path) => join(root, name, path) };
}

/** Without a commit, turbo spends most of a minute reading whole folders to find the inputs of packages. */
function commitAll(root: string): void {
  spawnSync('git', ['add', '--all'], { cwd: root });
  const author = ['-c', 'user.name=build', '-c', 'user.email=build@localhost'];
  spawnSync('git', [...author, 'commit', '--quiet', '--message=context'], { cwd: root });
}

function wordsOf(instruction: { getArguments(): { getValue(): string }[] }): string[] {
  return instruction
    .getArguments()
    .map((argument) => argument.getValue())
    .filter((word) => !word.startsWith('--'));
}

function copyInto(stage: Stage, sourceRoot: string, words: readonly string[]): void {
  const target = words.at(-1) as string;
  for (const word of words.slice(0, -1)) {
    const source = join(sourceRoot, word);
    const intoFolder = target.endsWith('/') || words.length > 2;
    const isFile = existsSync(source) && /\.[a-z]+$/.test(word);
    const name = isFile && intoFolder ? (word.split('/').at(-1) as string) : '';
    const destination = join(stage.folder, stage.workdir, target, name);
    mkdirSync(dirname(destination), { recursive: true });
    cpSync(source, destination, { recursive: true, verbatimSymlinks: true });
  }
}

async function runIn(
  stage: Stage,
  { root, turboCache }: { root: string; turboCache: string },
  text: string,
): Promise<void> {
  const command = text.replaceAll(/\\\n/g, ' ').replaceAll(/(?<=\s)\/(out|src|app)(?=[/\s]|$)/g, `${stage.folder}/$1`);
  const { code, stdout, stderr } = await runCommand(['sh', '-c', command], {
    cwd: join(stage.folder, stage.workdir),
    env: {
      CI: 'true',
      NODE_OPTIONS: '',
      // Files that were already built from the very same sources are taken from there.
      TURBO_CACHE_DIR: turboCache,
      npm_config_prefix: join(root, 'npm'),
      PATH: `${join(root, 'npm', 'bin')}:${process.env.PATH}`,
    },
    timeoutMs: RUN_MS,
  });
  if (code !== 0) throw new Error(`${command}\nended with ${code}\n${stdout}${stderr}`);
}

/** The build context: the files of a clone, and those that were added since. */
function copyTracked(repository: string, target: string): void {
  const listed = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: repository,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (listed.status !== 0) throw new Error(`git ls-files: ${listed.stderr}`);
  for (const file of listed.stdout.split('\0').filter((name) => name !== '' && existsSync(join(repository, name)))) {
    cpSync(join(repository, file), join(target, file), { recursive: true, verbatimSymlinks: true });
  }
}
