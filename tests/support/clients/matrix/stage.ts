import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { ownerOf } from '../../crashes/dns-history.js';
import { ownSets, readMirror, untilSettled } from '../../system/mirror.js';
import { repository } from '../../system/program.js';
import { DEMO_ZONE, type System, type Team, ZONE } from '../../system/start-system.js';
import type { Env } from '../../system/system-parts.js';
import { type Command, runCommand } from '../run-command.js';
import { statedSet, type WantedSet } from './wanted.js';

/** A client is tried here: with the system, its own team, and a folder that it may write to. */
export interface Stage {
  readonly system: System;
  readonly team: Team;
  readonly folder: string;
  readonly command: Command;
  /** The address and token of the client, and what {@link scene} adds. */
  readonly env: Env;
}

/** The end of a run of a client. */
export interface Attempt {
  readonly ok: boolean;
  /** Everything that it printed. */
  readonly said: string;
}

/** What a client believes to have made, in the words of its own state or of its own list. */
export interface Held {
  readonly sets: readonly WantedSet[];
  /** The names of certificates that it has. */
  readonly certificates: readonly (readonly string[])[];
  /** What it would delete and create anew. */
  readonly tainted: readonly string[];
}

const RUN_MS = 1_800_000;

/** What every client of `tests/clients` gets in its environment. */
const scene = ({ system, team, folder }: Omit<Stage, 'env' | 'command'>): Env => ({
  CORRAL_ZONE: ZONE,
  CORRAL_TEAM: team.slug,
  CORRAL_FOLDER: folder,
  CORRAL_WANTED: join(folder, 'wanted.json'),
  CORRAL_NAME_SERVER: `127.0.0.1:${system.cloud.dnsPort}`,
});

/**
 * Makes the folder of the client, with its snippets.
 *
 * @param row its folder in `tests/clients`, and the files there that the page shows
 */
export async function setStage(stage: Stage, row: { folder: string; snippets?: readonly string[] }): Promise<Stage> {
  await mkdir(stage.folder, { recursive: true });
  for (const file of row.snippets ?? []) {
    const text = await readFile(join(repository, 'tests', 'clients', row.folder, file), 'utf8');
    await writeFile(join(stage.folder, file), withNames(text, stage), { mode: 0o600 });
  }
  return { ...stage, env: { ...scene(stage), ...stage.env } };
}

/** A name in a zone that is not Corral's. The documentation has `shop.example.com` for it. */
export const delegatedName = ({ slug }: Team): string => `shop-${slug}.${DEMO_ZONE}`;

/** Puts the names of the test in the place of those of the documentation. */
export const withNames = (text: string, { system, team }: Pick<Stage, 'system' | 'team'>): string =>
  text
    .replaceAll('https://dns.example.org/v1', system.url)
    .replaceAll('shop.example.com', delegatedName(team))
    .replaceAll('acme.example.org', `${team.slug}.${ZONE}`)
    .replaceAll('example.org', ZONE)
    .replaceAll(/\bacme\b/g, team.slug);

/** Has the client make the world as wanted. Never throws for what the client says. */
export async function apply({ folder, command, env }: Stage, wanted: unknown): Promise<Attempt> {
  await writeFile(join(folder, 'wanted.json'), JSON.stringify(wanted));
  const { code, stdout, stderr } = await runCommand([...command, 'apply'], { cwd: folder, env, timeoutMs: RUN_MS });
  return { ok: code === 0, said: `${stdout}${stderr}` };
}

/** @throws Error with its output if the client cannot say what it holds */
export async function held({ folder, command, env }: Stage): Promise<Held> {
  const { code, stdout, stderr } = await runCommand([...command, 'held'], { cwd: folder, env, timeoutMs: RUN_MS });
  if (code !== 0) throw new Error(`${command.join(' ')} held ended with ${code}: ${stderr}${stdout}`);
  const said = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Partial<Held>;
  return { sets: said.sets ?? [], certificates: said.certificates ?? [], tainted: said.tainted ?? [] };
}

/** Runs a client again until it succeeds, as people and CI do. @returns the number of runs @throws Error with its last words */
export async function applyUntilDone(stage: Stage, wanted: unknown, { runsMax }: { runsMax: number }): Promise<number> {
  for (let run = 1; ; run += 1) {
    const { ok, said } = await apply(stage, wanted);
    if (ok) return run;
    if (run === runsMax) throw new Error(`It still failed in run ${run}: ${said.slice(-4_000)}`);
  }
}

/** Sets how many records the team may have. */
export const setQuota = ({ system, team }: Stage, records: number | 'default'): Promise<string> =>
  system.admin('team', 'set-quota', team.slug, '--dns-records', String(records));

/** The number of writes to names of the team that the upstream has accepted so far. */
export async function countWrites({ system, team }: Stage): Promise<number> {
  return (await system.cloud.writes()).filter(({ name }) => ownerOf(name) === team.slug).length;
}

/**
 * Waits until nothing is under way, and compares the gateway's mirror with the upstream, to the byte.
 *
 * @returns the sets of the team as the upstream states them
 */
export async function settledSets({ system, team }: Stage): Promise<WantedSet[]> {
  await untilSettled(system);
  const upstream = ownSets(await system.cloud.stated(), team);
  expect(await readMirror(system, team)).toEqual(upstream);
  return Object.values(upstream).map(statedSet);
}
