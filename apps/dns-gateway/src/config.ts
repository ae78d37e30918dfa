import { dnsLimits } from '@corral/contracts';
import { clientVariables, contactVariables, drainVariables, tlsVariables } from '@corral/http-api';
import {
  durationMs,
  flag,
  hostsAndPorts,
  installationVariables,
  integer,
  origins,
  portOrFree,
  text,
  tracingVariables,
  trustProxy,
  upstreamVariables,
  url,
} from '@corral/service';

/** Environment variables of the DNS gateway. */
export const dnsGatewayConfig = {
  ...installationVariables,
  ...tracingVariables,
  ...upstreamVariables,
  PORT: portOrFree({ default: 8080, desc: 'Port of the API.' }),
  HOST: text({ default: '::', desc: 'Address to listen on.' }),
  ...tlsVariables,
  ...clientVariables,
  ...contactVariables,
  METRICS_PORT: portOrFree({ default: 9090, desc: 'Port of /metrics, /healthz and /readyz.' }),
  PUBLIC_URL: url({
    default: undefined,
    desc: 'Public URL of the API, as shown in its OpenAPI document.',
    example: 'https://dns.example.org/v1',
  }),
  TRUST_PROXY: trustProxy({
    default: false,
    desc: 'Proxies that are trusted to state the client’s address.',
    example: '10.0.0.0/8',
  }),
  CONSOLE_ORIGINS: origins({
    default: [],
    desc: 'Origins whose scripts may call the API: those of the web console. Comma-separated list.',
    example: 'https://cloud.example.org',
  }),
  ...drainVariables,

  DATABASE_CONNECTIONS: integer({
    default: 10,
    min: 2,
    desc: 'Maximum number of Postgres connections. Half of them, rounded down, serve writes; the rest serve reads.',
  }),
  WRITE_WAIT_MS: durationMs({
    default: dnsLimits.writeWaitMs,
    desc: 'Maximum total time that a write waits: for its rate limit, for earlier writes to its record set and for the upstream’s request budget.',
  }),
  READ_WAIT_MS: durationMs({
    default: dnsLimits.readWaitMs,
    desc: 'Maximum time that a read of one record set waits for its rate limit.',
  }),
  SETTLE_AFTER_MS: durationMs({
    default: 2_000,
    desc: 'Delay before the outcome of a write without a usable upstream answer is determined.',
  }),
  SETTLE_WITHIN_MS: durationMs({
    default: 5_000,
    desc: 'Maximum time that a client then waits for the outcome of its write.',
  }),
  ACTION_POLL_MS: durationMs({ default: 1_000, desc: 'Minimum time between two upstream calls that poll actions.' }),
  ACTION_HOLD_MS: durationMs({
    default: dnsLimits.actionHoldMs,
    desc: 'Maximum time that a read of a running action is held until the action ends.',
  }),
  DNS_NAME_SERVERS: hostsAndPorts({
    default: [],
    desc: 'Name servers of the zone, each a name or an address with an optional port. Comma-separated list. If set, the action of a write ends when all of them answer it.',
    example: '192.0.2.53,ns2.example.org:5353',
    port: 53,
  }),
  DNS_PROPAGATION_MS_MAX: durationMs({
    // Some clients, such as lego, wait for an action for 2 minutes.
    default: 90_000,
    desc: 'Maximum time after a write that its action waits for name servers. Then it ends in success all the same.',
  }),

  DEMOS_ENABLED: flag({ default: false, desc: 'Serve demos: short-lived names in a separate zone.' }),
  DEMO_ZONE_NAME: text({
    default: undefined,
    desc: 'Zone of the demos. Required with DEMOS_ENABLED.',
    example: 'demo.example.org',
    requiredWhen: ({ DEMOS_ENABLED }) => DEMOS_ENABLED === true,
  }),
  DEMOS_PER_TEAM: integer({ default: dnsLimits.demosPerTeam, min: 1, desc: 'Maximum number of live demos per team.' }),

  DNS_RECORDS_PER_TEAM: integer({
    default: dnsLimits.recordsPerTeam,
    min: 1,
    desc: 'Maximum number of records per team.',
  }),
  LIMIT_PER_ADDRESS: integer({
    default: dnsLimits.requestsPerAddressPerMinute,
    min: 1,
    desc: 'Requests per address and minute, counted before the token is checked.',
  }),
  LIMIT_PER_TOKEN: integer({
    default: dnsLimits.requestsPerTokenPerMinute,
    min: 1,
    desc: 'Requests per token and minute, for teams without a limit of their own.',
  }),
  LIMIT_PER_TEAM: integer({
    default: dnsLimits.requestsPerTeamPerMinute,
    min: 1,
    desc: 'Requests per team and minute, for teams without a limit of their own.',
  }),
};
