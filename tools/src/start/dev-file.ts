/** The content of `dev.json` in the state folder, for tools and tests. */
export interface DevFile {
  readonly dnsUrl: string;
  /** The same over TLS, also with a certificate for the name of the upstream. */
  readonly dnsTlsUrl: string;
  /** The certificate of its authority, in PEM format. */
  readonly caFile: string;
  readonly zoneName: string;
  readonly demoZoneName: string;
  /** Null if another DNS upstream is used. */
  readonly dnsServerPort: number | null;
  /** The address of the cluster API. */
  readonly baseUrl: string;
  readonly upstream: {
    readonly hcloudUrl: string;
    readonly hcloudToken: string;
    /** Null if another garden is used. */
    readonly gardenUrl: string | null;
    readonly gardenKubeconfig: string;
    /** Null if nothing of the local cloud is used. */
    readonly adminUrl: string | null;
  };
  /** The address of the web console. */
  readonly consoleUrl: string;
  readonly teams: readonly DevTeam[];
  /** Values that the local garden accepts. */
  readonly defaults: { readonly region: string; readonly kubernetesVersion: string; readonly machineType: string };
}

export interface DevTeam {
  readonly slug: string;
  readonly dnsToken: string;
  /** Null if another provider than the local cloud is used, as we cannot create its tokens. */
  readonly connectionRef: string | null;
  /** Servers in the cloud project of the team, as the team adopts them. None with another provider than the local cloud. */
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

/** The slugs of the teams. */
export const DEV_SLUGS = ['acme', 'globex'] as const;
/** The code for creating demos without a token. */
export const DEV_COURSE_CODE = 'WORKSHOP';
/** What clients with a built-in address call. */
export const UPSTREAM_NAME = 'api.hetzner.cloud';
