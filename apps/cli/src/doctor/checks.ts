import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { isCorralError } from '@corral/client';
import type { Cli } from '../cli.js';
import { connectTeam, findMe } from '../clusters/team-api.js';
import { connectDns } from '../dns/dns-zone.js';
import { CliError } from '../exit-codes.js';
import { chosenContext, clusterAccess, dnsAccess, type Given } from '../settings/settings.js';

export interface Result {
  /** `warning`: it works, but will not for long, or not well. */
  readonly state: 'ok' | 'warning' | 'failed' | 'unchecked';
  readonly text: string;
}

/** What the cluster API said to a request without a token. */
export interface Answered extends Result {
  readonly url: string;
  /** The clock of the service minus that of this machine, in seconds. Null if the service did not say it. */
  readonly clockAheadSeconds: number | null;
}

const REACH_MS = 10_000;
const CONNECT_MS = 5_000;
const CLOCK_SECONDS_MAX = 30;
/** Certificates are renewed a month before their end. */
const CERTIFICATE_DAYS_MIN = 14;

/** Whether only the DNS API is used here. */
export function isOfDnsOnly(given: Given): boolean {
  const url = given.env.CORRAL_URL || chosenContext(given)?.stored.url;
  return url === undefined && dnsAccess(given) !== null;
}

/** @throws CliError `unavailable` if nothing answers */
export async function reach(cli: Cli): Promise<Answered> {
  const { url } = clusterAccess(await cli.given());
  const began = performance.now();
  const signal = AbortSignal.any([cli.io.signal, AbortSignal.timeout(REACH_MS)]);
  const response = await fetch(`${url}/api/v1/me/`, { signal, redirect: 'manual' }).catch((error: unknown) => {
    throw new CliError('unavailable', `${url} does not answer: ${causeOf(error)}. Check the address and the proxy.`);
  });
  await response.body?.cancel();
  const ms = Math.round(performance.now() - began);
  const date = Date.parse(response.headers.get('date') ?? '');
  const clockAheadSeconds = Number.isNaN(date) ? null : Math.round((date - Date.now()) / 1_000);
  return { url, clockAheadSeconds, state: 'ok', text: `${url} answers in ${ms} ms.` };
}

/** `fetch` says what happened in the cause. */
const causeOf = (error: unknown): string => {
  const { cause, message } = error as Error;
  return cause instanceof Error && cause.message !== '' ? cause.message : message;
};

export async function certificateOf({ url }: Pick<Answered, 'url'>): Promise<Result> {
  const { protocol, hostname, port } = new URL(url);
  if (protocol !== 'https:') return { state: 'unchecked', text: 'The address is without TLS.' };
  const days = await daysLeft(hostname.replace(/^\[|\]$/g, ''), Number(port || 443));
  const text = `The certificate is valid for ${days} more days.`;
  return days < CERTIFICATE_DAYS_MIN ? { state: 'warning', text } : { state: 'ok', text };
}

/** The address has answered, so whoever signed the certificate is trusted. */
const daysLeft = (host: string, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: CONNECT_MS, ...(isIP(host) === 0 && { servername: host }) }, () => {
      resolve(Math.floor((Date.parse(socket.getPeerCertificate().valid_to) - Date.now()) / 86_400_000));
      socket.end();
    });
    const fail = (error: Error) =>
      reject(new CliError('unavailable', `The certificate cannot be read: ${error.message}.`));
    socket.on('timeout', () => socket.destroy(new Error('it took too long')));
    socket.on('error', fail);
  });

export function clockOf({ clockAheadSeconds: seconds }: Pick<Answered, 'clockAheadSeconds'>): Result {
  if (seconds === null) return { state: 'unchecked', text: 'The service did not say its time.' };
  if (Math.abs(seconds) <= CLOCK_SECONDS_MAX)
    return { state: 'ok', text: `It differs by ${Math.abs(seconds)} s from that of the service.` };
  const how = seconds > 0 ? 'behind' : 'ahead of';
  return {
    state: 'warning',
    text: `The clock of this machine is ${Math.abs(seconds)} s ${how} that of the service. Set it.`,
  };
}

/** @throws CorralError for a token that is not accepted */
export async function tokenOf(cli: Cli): Promise<Result> {
  const { client, team, signal } = await connectTeam(cli);
  const me = await findMe(client, signal);
  if (me !== null) {
    const role = me.teams.find(({ slug }) => slug === team)?.role;
    if (role === undefined) throw new CliError('notFound', `${me.email} does not belong to team ${team}.`);
    return { state: 'ok', text: `${me.email} is signed in, and is ${role} of team ${team}.` };
  }
  const canRead = await client.listClusters({ team }, { query: { limit: 1 }, signal }).then(
    () => true,
    (error: unknown) => {
      // An account that may not read is one all the same.
      if (isCorralError(error) && error.status === 403) return false;
      throw error;
    },
  );
  const what = canRead ? 'and may read its clusters' : 'and may not read its clusters';
  return { state: 'ok', text: `The token is that of a service account of team ${team}, ${what}.` };
}

/** @throws CorralError for a token that is not accepted */
export async function dnsOf(cli: Cli): Promise<Result> {
  const isBySession = dnsAccess(await cli.given()) === null;
  const client = await connectDns(cli).catch((error: unknown) => {
    if (isBySession && isCorralError(error) && error.status === 403) return null;
    throw error;
  });
  // Not every service account may use record sets, and most need not.
  if (client === null)
    return {
      state: 'unchecked',
      text: 'This token gets no DNS token. To use record sets, let the account use them, or set CORRAL_DNS_URL and CORRAL_DNS_TOKEN.',
    };
  const { token } = (await client.getToken({}, { signal: cli.io.signal })).body;
  const may = token.types.length === 0 ? 'reads' : 'writes';
  const names = token.names.length === 0 ? token.zone.name : token.names.join(', ');
  return { state: 'ok', text: `The token ${token.name} is accepted, and ${may} ${names} in ${token.zone.name}.` };
}
