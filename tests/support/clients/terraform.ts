import type { UpstreamRrset } from '../system/local-cloud.js';
import { type System, type Team, ZONE } from '../system/start-system.js';
import { hcloudGo, walk } from './client-programs.js';

/** The number of record sets of a configuration. */
export const SETS = Number(process.env.CORRAL_TERRAFORM_SETS ?? 200);
/** What the upstream grants to a project. */
export const REQUESTS_PER_HOUR = 3_600;
/** Longer than all phases take under the default limits. */
export const PLAY_MS = 3_600_000;

/** Unsets what tests shorten or lift: the limits and waits of a gateway are the default ones. */
export const byDefault = {
  LIMIT_PER_ADDRESS: undefined,
  LIMIT_PER_TOKEN: undefined,
  LIMIT_PER_TEAM: undefined,
  WRITE_WAIT_MS: undefined,
  READ_WAIT_MS: undefined,
  ACTION_POLL_MS: undefined,
  UPSTREAM_TIMEOUT_MS: undefined,
  UPSTREAM_WAIT_MS: undefined,
  SETTLE_AFTER_MS: undefined,
} as const;

/** The outcome of one phase. */
export interface Phase {
  readonly errors: readonly string[];
  /** The answers 429, also those after which the client tried again. */
  readonly refused: number;
  readonly seconds: number;
  readonly made: number;
  /** The number of sets that were created but not seen afterwards: the next run would delete and create them again. */
  readonly tainted: number;
}
export type Phases = Readonly<Record<string, Phase>>;

/**
 * Makes the calls of Terraform with the library of its provider.
 *
 * @param phases names of `clients/hcloud-go/terraform.go`, separated by commas
 */
export async function playTerraform(
  url: string,
  { slug, token }: Team,
  { parallelism, phases }: { parallelism: number; phases: string },
): Promise<Phases> {
  const args = ['terraform', ZONE, slug, String(SETS), String(parallelism), phases];
  const settings = { HCLOUD_ENDPOINT: url, HCLOUD_TOKEN: token };
  return (await walk(await hcloudGo(), args, settings, { timeoutMs: PLAY_MS })) as unknown as Phases;
}

/** Everything that failed for good, with the name of its phase. */
export const failuresOf = (phases: Phases): string[] =>
  Object.entries(phases).flatMap(([name, { errors = [] }]) => errors.map((error) => `${name}: ${error}`));

/** The sets of type A that the upstream holds at the team's name and below. */
export async function setsOf({ cloud }: System, slug: string): Promise<UpstreamRrset[]> {
  const stated = [...(await cloud.stated()).values()].map((text) => JSON.parse(text) as UpstreamRrset);
  return stated.filter(({ name, type }) => type === 'A' && name.endsWith(`.${slug}`));
}
