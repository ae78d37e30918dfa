/** What `dev.json` in the state folder tells tools and tests. */
export interface DevFile {
  readonly dnsUrl: string;
  /** The same over TLS, with a certificate for the name of the upstream as well. */
  readonly dnsTlsUrl: string;
  /** Certificate of the authority behind it, PEM. */
  readonly caFile: string;
  readonly zoneName: string;
  readonly demoZoneName: string;
  /** Null when another DNS upstream is used. */
  readonly dnsServerPort: number | null;
  /** The cluster API. */
  readonly baseUrl: string;
  readonly upstream: {
    readonly hcloudUrl: string;
    readonly hcloudToken: string;
    /** Null when another garden is used. */
    readonly gardenUrl: string | null;
    readonly gardenKubeconfig: string;
    /** Null when nothing of the local cloud is used. */
    readonly adminUrl: string | null;
  };
  readonly teams: readonly DevTeam[];
  /** Values that the local garden accepts. */
  readonly defaults: { readonly region: string; readonly kubernetesVersion: string; readonly machineType: string };
}

export interface DevTeam {
  readonly slug: string;
  readonly dnsToken: string;
  /** Null when another provider than the local cloud is used: its token is not ours to make. */
  readonly connectionRef: string | null;
  /** In the team's cloud project, as they are adopted. None with another provider than the local cloud. */
  readonly servers: readonly DevServer[];
  readonly admin: DevPerson;
  readonly member: DevPerson;
}

export interface DevServer {
  readonly serverID: number;
  readonly serverType: string;
  readonly location: string;
  readonly architecture: string;
  readonly serverKind: string;
}

export interface DevPerson {
  readonly email: string;
  /** The cookie of a session that is signed in. */
  readonly sessionid: string;
}
