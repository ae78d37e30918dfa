/** What an installation has, before it is measured. */
export interface Size {
  /** Names the folder of its data. */
  readonly name: string;
  readonly teams: number;
  readonly setsPerTeam: number;
  readonly clusters: number;
  readonly auditEntries: number;
}

export const usual: Size = {
  name: 'usual',
  teams: 1_000,
  setsPerTeam: 200,
  clusters: 2_000,
  auditEntries: 1_000_000,
};
export const long: Size = { ...usual, name: 'long', clusters: 5_000, auditEntries: 10_000_000 };
/** Enough for what depends on clusters only. */
export const few: Size = { name: 'few', teams: 100, setsPerTeam: 2, clusters: 400, auditEntries: 1_000 };

export const slugOf = (team: number): string => `team-${team}`;
/** Address of the team's administrator. */
export const emailOf = (team: number): string => `admin@${slugOf(team)}.test`;
export const setOf = (team: number, set: number): string => `s${set}.${slugOf(team)}`;

/** Clusters by number: team 0 has the first, team 1 the second … */
export const clusterOf = ({ teams }: Size, cluster: number) => ({
  team: cluster % teams,
  name: `c${Math.floor(cluster / teams)}`,
});
