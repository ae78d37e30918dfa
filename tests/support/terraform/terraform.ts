import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Missing } from '@corral/testing';
import { expect } from '@jest/globals';
import { type Client, goProgram, works } from '../clients/client-programs.js';
import { type CommandResult, runCommand } from '../clients/run-command.js';
import type { ClusterSystem, ClusterTeam } from '../clusters/start-cluster-system.js';
import { builtFile } from '../system/program.js';

/** A run that creates, changes or deletes clusters on a busy machine. */
const RUN_MS = 900_000;
const PROVIDER = 'terraform-provider-corral';

/** The provider of this checkout, built; it needs Go and Terraform. */
export async function terraformProvider(): Promise<Client> {
  const what: Missing = { what: 'Terraform', how: 'put terraform 1.11 or newer on PATH', isRare: true };
  if (!(await works(['terraform', 'version']))) return { kind: 'missing', missing: what };
  return goProgram(PROVIDER, '.', { file: PROVIDER, folder: builtFile(`clients/${PROVIDER}`) });
}

export interface Terraform {
  readonly folder: string;
  /** Writes the configuration of the folder anew. */
  configure(hcl: string): Promise<void>;
  /** @returns how it ended, and what it said without lines that only fit a terminal */
  run(...args: string[]): Promise<CommandResult>;
  /** @returns standard output @throws Error with its last words if it fails */
  insist(...args: string[]): Promise<string>;
  /** The state, as data. */
  // biome-ignore lint/suspicious/noExplicitAny: any resource
  resources(): Promise<any[]>;
  remove(): Promise<void>;
}

/** Terraform with the provider of this checkout, in a folder of its own. No registry is asked. */
export async function startTerraform(
  provider: Client,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Terraform> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-terraform-'));
  const program = provider.kind === 'found' ? (provider.command[0] as string) : '';
  const cliConfig = join(folder, 'cli', 'terraform.rc');
  await mkdir(dirname(cliConfig));
  const overrides = `dev_overrides { "corral/corral" = "${dirname(program)}" }`;
  await writeFile(cliConfig, `provider_installation {\n  ${overrides}\n  direct {}\n}\n`);
  const secrets = [env.CORRAL_TOKEN, env.CORRAL_SESSION].flatMap((secret) => secret ?? []);
  const run = async (...args: string[]): Promise<CommandResult> => {
    const result = await runCommand(['terraform', ...args], {
      cwd: folder,
      timeoutMs: RUN_MS,
      env: {
        CORRAL_TOKEN: undefined,
        CORRAL_SESSION: undefined,
        ...env,
        TF_CLI_CONFIG_FILE: cliConfig,
        CHECKPOINT_DISABLE: '1',
        TF_IN_AUTOMATION: '1',
        TF_CLI_ARGS: '-no-color',
      },
    });
    for (const secret of secrets) expect(result.stdout + result.stderr).not.toContain(secret);
    return result;
  };
  const insist = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(...args);
    if (code !== 0) throw new Error(`terraform ${args.join(' ')} ended with ${code}: ${stdout}${stderr}`.slice(-6_000));
    return stdout;
  };
  return {
    folder,
    run,
    insist,
    configure: (hcl) => writeFile(join(folder, 'main.tf'), `${REQUIRED}${hcl}`),
    async resources() {
      const shown = JSON.parse(await insist('show', '-json'));
      return shown.values?.root_module.resources ?? [];
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

const REQUIRED = 'terraform {\n  required_providers {\n    corral = { source = "corral/corral" }\n  }\n}\n\n';

/** The variables of a pipeline, which has the token of a service account. */
export async function pipelineEnv({ apis }: ClusterSystem, { admin, slug }: ClusterTeam, role = 'member') {
  await admin.insist({ method: 'PUT', path: '/service-accounts/terraform/', body: { spec: { role } } });
  const path = '/service-accounts/terraform/tokens/';
  const { json } = await admin.insist({ method: 'POST', path, body: { expiresInDays: 1 } });
  return { CORRAL_URL: apis[0]?.base, CORRAL_TEAM: slug, CORRAL_TOKEN: json.token as string };
}

export interface ClusterOptions {
  readonly machineType?: string;
  readonly maximum?: number;
  /** Further attributes. */
  readonly more?: string;
}

/** A cluster with one pool, as people write it. */
export const clusterHcl = (
  { surroundings }: ClusterSystem,
  name: string,
  { machineType = 'cx22', maximum = 2, more = '' }: ClusterOptions = {},
): string => `
resource "corral_cluster" "${name}" {
  name               = "${name}"
  connection_ref     = "${surroundings.connectionRef}"
  region             = "${surroundings.region}"
  kubernetes_version = "1.34"
  node_pools = [{ name = "general", machine_type = "${machineType}", minimum = 1, maximum = ${maximum} }]
  ${more}
}
`;
