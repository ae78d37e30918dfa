import { describeNeeding } from '@corral/testing';
import { afterAll, describe, expect, it } from '@jest/globals';
import type { System, Team } from '../../system/start-system.js';
import { type Ends, type Env, ownFolder, undo, ZONE } from '../../system/system-parts.js';
import { type Client, missingOf, pebble } from '../client-programs.js';
import { playCertificates, playCertificatesNearQuota } from './certificates-story.js';
import { NEAR_QUOTA, STORY, type Trouble, troubles } from './faults.js';
import { type ClientRow, runsOf } from './rows.js';
import { type Stage, setStage } from './stage.js';
import { playRecords, playRecordsNearQuota, type Runs } from './stories.js';
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

/** Plays the same parts with a client in its own team, whose slug is the name of the row. Each ends as the page says. */
export function describeClient({ row, client }: ProvidedRow, surroundings: () => Surroundings): void {
  describeNeeding(describe, missingOf(client), row.title, () => {
    const ends: Ends = [];
    afterAll(() => undo(ends));

    const [story, nearQuota] = playsOf(row);
    const parts: readonly (readonly [part: string, title: string, play: (stage: Stage) => Promise<Runs>])[] = [
      [STORY, 'creates, changes and deletes, and a second run changes nothing', story],
      ...troubles.map((trouble) => {
        const title = `does so despite ${trouble.name} of the upstream`;
        return [trouble.name, title, (stage: Stage) => story(stage, trouble)] as const;
      }),
      [
        NEAR_QUOTA,
        'leaves nothing half made when the quota of the team is reached, and goes on when it is raised',
        nearQuota,
      ],
    ];
    it.each(parts)(
      '%s: %s',
      async (part, _title, play) => {
        const stage = await stageOf({ row, client }, surroundings(), await ownFolder(ends));

        expect(await play(stage)).toBe(runsOf(row, part));
      },
      row.timeoutMs ?? 1_800_000,
    );
  });
}

type Story = (stage: Stage, trouble?: Trouble) => Promise<Runs>;

function playsOf(row: ClientRow): [Story, (stage: Stage) => Promise<Runs>] {
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
