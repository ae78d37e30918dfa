/**
 * The program that `npm start` runs beside itself until everything is ready: the steps that need large libraries, so that
 * the process that supervises the services for hours does not keep these in memory. It does a step when its parent sends
 * one, and ends with its parent.
 */
import { applyMigrations } from '@corral/database';
import { devCertificate } from './dev-certificate.js';
import { ensureDevServers } from './dev-servers.js';
import { devSignIns } from './dev-sign-ins.js';
import { ensureDevTeams } from './dev-teams.js';
import { stateFolder } from './state-folder.js';

const steps = {
  certificate: ({ root }: { root: string }) => devCertificate(stateFolder(root)),
  migrations: applyMigrations,
  teams: ensureDevTeams,
  signIns: devSignIns,
  servers: ensureDevServers,
};

type Step = keyof typeof steps;
export type SetUpInput = { readonly [S in Step]: Parameters<(typeof steps)[S]>[0] };
export type SetUpOutput = { readonly [S in Step]: Awaited<ReturnType<(typeof steps)[S]>> };
export type SetUpRequest = { readonly [S in Step]: { id: number; step: S; input: SetUpInput[S] } }[Step];
export type SetUpAnswer = { readonly id: number } & ({ readonly output: unknown } | { readonly failure: string });

process.on('message', async (request: SetUpRequest) => {
  const answer = await carryOut(request);
  if (process.connected) process.send?.(answer);
});
process.once('disconnect', () => process.exit());

async function carryOut({ id, step, input }: SetUpRequest): Promise<SetUpAnswer> {
  try {
    return { id, output: await (steps[step] as (input: unknown) => Promise<unknown>)(input) };
  } catch (error) {
    return { id, failure: error instanceof Error ? error.message : String(error) };
  }
}
