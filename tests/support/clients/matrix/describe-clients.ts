import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { System, Team } from '../../system/start-system.js';
import { type Env, ZONE } from '../../system/system-parts.js';
import { type Client, missingOf, pebble } from '../client-programs.js';
import { playCertificates, playCertificatesNearQuota } from './certificates-story.js';
import { type Trouble, troubles } from './faults.js';
import { NEAR_QUOTA, partNames, STORY } from './parts.js';
import { COMMAND, pinnedVersion, recordedResult, recordResult } from './results.js';
import type { ClientRow } from './rows.js';
import { type Stage, setStage } from './stage.js';
import { type Outcome, playRecords, playRecordsNearQuota } from './stories.js';
import { wantedStates } from './wanted.js';

/** A row with the command of the client, or why this machine has none. */
export interface ProvidedRow {
  readonly row: ClientRow;
  readonly client: Client;
}

/** One after the other: each may take a compiler and all of the machine. */
export async function provide(rows: readonly ClientRow[]): Promise<ProvidedRow[]> {
  const provided: ProvidedRow[] = [];
  for (const row of rows) {
    const authority = row.story === 'certificates' ? await pebble() : null;
    provided.push({ row, client: authority?.kind === 'missing' ? authority : await row.provide() });
  }
  return provided;
}

export interface Surroundings {
  readonly system: System;
  /** The settings of a client that takes an address. */
  endpoint(team: Team): Env;
  /** The settings of a client with a built-in address; nothing where no such client is tried. */
  builtIn?(team: Team): Env;
  /** The settings of a client that asks an authority for certificates. */
  authority?(): Env;
}

type Play = (stage: Stage) => Promise<Outcome>;

/** Plays the same parts with a client in its own team, whose slug is the name of the row, and records how each went. */
export function describeClient({ row, client }: ProvidedRow, surroundings: () => Surroundings): void {
  describeNeeding(describe, missingOf(client), row.title, () => {
    /** Each part is played once, by whichever test needs it first. */
    const played = new Map<string, Promise<Outcome>>();
    const plays: { readonly name: string; readonly title: string; readonly play: Play }[] = [];
    let folder: string;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), `corral-${row.name}-`));
    });
    afterAll(async () => {
      await rm(folder, { recursive: true, force: true });
    });

    const timeoutMs = row.timeoutMs ?? 1_800_000;
    const outcomeOf = (name: string, play: Play): Promise<Outcome> => {
      const outcome =
        played.get(name) ??
        stageOf({ row, client }, surroundings(), join(folder, String(partNames.indexOf(name)))).then(play);
      played.set(name, outcome);
      return outcome;
    };

    const [story, nearQuota] = playsOf(row);
    plays.push({
      name: STORY,
      title: 'creates, changes and deletes, and a second run changes nothing',
      play: (stage) => story(stage),
    });
    for (const trouble of troubles) {
      const title = `does so despite ${trouble.name} of the upstream`;
      plays.push({ name: trouble.name, title, play: (stage) => story(stage, trouble) });
    }
    plays.push({
      name: NEAR_QUOTA,
      title: 'leaves nothing half made when the quota of the team is reached, and goes on when it is raised',
      play: nearQuota,
    });
    for (const { name, title, play } of plays) it(title, async () => void (await outcomeOf(name, play)), timeoutMs);

    it(
      'does what the documentation says, with the pinned version',
      async () => {
        const parts: Record<string, Outcome> = {};
        for (const { name, play } of plays) parts[name] = await outcomeOf(name, play);
        const version = pinnedVersion(row);
        const result = { client: row.name, version, ran: COMMAND, parts };
        expect(Object.keys(parts)).toEqual(partNames);
        if (process.env.CORRAL_WRITE_DOCS) recordResult(result);

        expect(recordedResult(row)).toEqual(result);
      },
      timeoutMs,
    );
  });
}

type Story = (stage: Stage, trouble?: Trouble) => Promise<Outcome>;

function playsOf(row: ClientRow): [Story, Play] {
  if (row.story === 'certificates') return [playCertificates, playCertificatesNearQuota];
  const { deletes = true, keeps, remedy } = row;
  const statesOf = row.states ?? ((team: string) => wantedStates(team, { zone: ZONE, many: row.many ?? MANY }));
  const play = (stage: Stage) => ({
    stage,
    states: statesOf(stage.team.slug),
    deletes,
    ...(keeps && { keeps }),
    ...(remedy && { remedy }),
  });
  return [(stage, trouble) => playRecords(play(stage), trouble), (stage) => playRecordsNearQuota(play(stage))];
}

/** Enough for more than one page of a list. */
const MANY = 30;

/** Sets the stage for a client, in its team. */
export async function stageOf({ row, client }: ProvidedRow, around: Surroundings, folder: string): Promise<Stage> {
  const team = around.system.teams.find(({ slug }) => slug === row.name);
  if (team === undefined) throw new Error(`The system has no team for ${row.name}.`);
  const command = client.kind === 'found' ? [...client.command, ...(row.args ?? [])] : [];
  const address = row.address === 'endpoint' ? around.endpoint(team) : around.builtIn?.(team);
  const authority = row.story === 'certificates' ? around.authority?.() : {};
  const env = { ...address, ...authority, ...row.env };
  return setStage({ system: around.system, team, folder, command, env }, row);
}
