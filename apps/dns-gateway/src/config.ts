import { dnsLimits } from '@corral/contracts';
import {
  clientVariables,
  drainVariables,
  durationMs,
  flag,
  installationVariables,
  integer,
  portOrFree,
  text,
  tlsVariables,
  trustProxy,
  upstreamVariables,
  url,
} from '@corral/service';

/** Every variable of the DNS gateway. */
export const dnsGatewayConfig = {
  ...installationVariables,
  ...upstreamVariables,
  PORT: portOrFree({ default: 8080, desc: 'Port of the API.' }),
  HOST: text({ default: '::', desc: 'Address to listen on.' }),
  ...tlsVariables,
  ...clientVariables,
  METRICS_PORT: portOrFree({ default: 9090, desc: 'Port of /metrics, /healthz and /readyz.' }),
  PUBLIC_URL: url({
    default: undefined,
    desc: 'Where clients reach the API, for its OpenAPI document.',
    example: 'https://dns.example.org/v1',
  }),
  TRUST_PROXY: trustProxy({
    default: false,
    desc: 'Which proxies may state the client’s address.',
    example: '10.0.0.0/8',
  }),
  ...drainVariables,

  DATABASE_CONNECTIONS: integer({
    default: 10,
    min: 2,
    desc: 'Connections to Postgres at most: half of them, rounded down, for writes, the rest for reads.',
  }),
  WRITE_WAIT_MS: durationMs({
    default: dnsLimits.writeWaitMs,
    desc: 'How long a write waits in all: for its rate, earlier ones to its record set, the upstream’s budget.',
  }),
  READ_WAIT_MS: durationMs({
    default: dnsLimits.readWaitMs,
    desc: 'How long a read of one record set waits for its rate.',
  }),
  SETTLE_AFTER_MS: durationMs({ default: 2_000, desc: 'When a write without a usable answer may be settled.' }),
  SETTLE_WITHIN_MS: durationMs({
    default: 5_000,
    desc: 'How long a client then waits for the upstream to tell what became of its write.',
  }),
  ACTION_POLL_MS: durationMs({ default: 1_000, desc: 'Shortest time between two upstream calls for actions.' }),
  ACTION_HOLD_MS: durationMs({
    default: dnsLimits.actionHoldMs,
    desc: 'How long a read of a running action is held until the action ends.',
  }),

  DEMOS_ENABLED: flag({ default: false, desc: 'Serve demos: short-lived names in a zone of their own.' }),
  DEMO_ZONE_NAME: text({
    default: undefined,
    desc: 'The zone of the demos; needed to serve them.',
    example: 'demo.example.org',
    requiredWhen: ({ DEMOS_ENABLED }) => DEMOS_ENABLED === true,
  }),
  DEMOS_PER_TEAM: integer({ default: dnsLimits.demosPerTeam, min: 1, desc: 'Live demos a team may have.' }),

  DNS_RECORDS_PER_TEAM: integer({ default: dnsLimits.recordsPerTeam, min: 1, desc: 'Records a team may have.' }),
  LIMIT_PER_ADDRESS: integer({
    default: dnsLimits.requestsPerAddressPerMinute,
    min: 1,
    desc: 'Requests per address and minute, counted before the token is checked.',
  }),
  LIMIT_PER_TOKEN: integer({
    default: dnsLimits.requestsPerTokenPerMinute,
    min: 1,
    desc: 'Requests per token and minute.',
  }),
  LIMIT_PER_TEAM: integer({
    default: dnsLimits.requestsPerTeamPerMinute,
    min: 1,
    desc: 'Requests per team and minute.',
  }),
};
