import { isIP } from 'node:net';
import { connect } from 'node:tls';
import type { Condition } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import { connectGarden, type GardenClient, reconcilerRights } from '@corral/garden';
import { silentLog } from '@corral/service';
import { OperatorError } from '../operator-error.js';
import { type Check, failed, ok, type Result, unchecked, warning } from './check.js';

/** Renewals happen a month before the end, so that a shorter rest means that one has failed. */
const CERTIFICATE_DAYS_MIN = 14;
const CONNECT_MS = 5_000;

export const garden: Check = async ({ context: { prisma }, kubeconfig }) => {
  const waiting = await waitingForGarden(prisma);
  if (waiting !== null) return waiting;
  if (kubeconfig === null) {
    const clusters = await prisma.cluster.count();
    return clusters === 0
      ? unchecked('Add --garden with the kubeconfig of the reconciler.')
      : ok('No cluster waits for the garden.');
  }
  const missing = await rightsMissingTo(kubeconfig);
  return missing.length === 0
    ? ok('The garden answers, and the account of the reconciler has its rights.')
    : failed(`The account lacks rights in the garden: ${missing.join(', ')}. Apply infra/garden/reconciler.yaml.`);
};

async function waitingForGarden(prisma: Prisma): Promise<Result | null> {
  const unavailable = { type: 'Reconciled', reason: 'GardenUnavailable' } satisfies Partial<Condition>;
  const where = { conditions: { array_contains: [unavailable] } };
  const waiting = await prisma.cluster.count({ where });
  if (waiting === 0) return null;
  const one = await prisma.cluster.findFirst({ where, select: { conditions: true } });
  const condition = (one?.conditions as Condition[] | undefined)?.find(({ reason }) => reason === unavailable.reason);
  return failed(
    `Clusters wait for the garden (${waiting}): ${condition?.message ?? ''} Check its address and the rights of the account.`,
  );
}

/** @throws OperatorError if the file cannot be used, or the garden does not answer */
async function rightsMissingTo(kubeconfigPath: string): Promise<string[]> {
  let client: GardenClient | null = null;
  try {
    client = connectGarden({ kubeconfigPath, cloudProfileName: '-', timeoutMs: CONNECT_MS, log: silentLog });
    return await client.missingRights(reconcilerRights);
  } catch (error) {
    throw new OperatorError(`The garden cannot be asked with ${kubeconfigPath}: ${(error as Error).message}`);
  } finally {
    await client?.close();
  }
}

export const connections: Check = async ({ context }) => {
  const rejected = await context.prisma.connection.findMany({
    where: { phase: 'Rejected' },
    select: { ref: true, team: { select: { slug: true } } },
  });
  const names = rejected.map(({ ref, team }) => `${team.slug}/${ref}`);
  return names.length === 0
    ? ok('No provider refuses a token of a connection.')
    : warning(`Providers refuse the tokens of: ${names.join(', ')}. Their teams have to replace them.`);
};

export const mail: Check = async ({ context }) => {
  const unsent = await context.prisma.invitation.count({
    where: { mailDueAt: { not: null }, mailFailures: { gt: 0 } },
  });
  return unsent === 0
    ? ok('No mail waits after a failure.')
    : warning(`Invitations could not be mailed (${unsent}). Read the log of the reconcilers, and check SMTP_URL.`);
};

export const certificates: Check = async ({ urls }) => {
  if (urls.length === 0) return unchecked('Add --url with the address of each API.');
  const results = await Promise.all(urls.map(certificateOf));
  const texts = results.map(({ text }) => text).join(' ');
  const states = results.map(({ state }) => state);
  return { state: (['failed', 'warning'] as const).find((state) => states.includes(state)) ?? 'ok', text: texts };
};

async function certificateOf(url: string): Promise<Result> {
  try {
    const days = await daysLeft(new URL(url));
    if (days < 0) return failed(`The certificate of ${url} has expired.`);
    const text = `The certificate of ${url} is valid for ${days} days.`;
    return days < CERTIFICATE_DAYS_MIN ? warning(`${text} Its renewal has failed.`) : ok(text);
  } catch (error) {
    return failed(`${url} does not answer by TLS: ${(error as Error).message}`);
  }
}

/** Whoever signed it: who trusts the certificate is not the question here. */
const daysLeft = ({ hostname, port }: URL): Promise<number> =>
  new Promise((resolve, reject) => {
    const host = hostname.replace(/^\[|\]$/g, '');
    const options = { host, port: Number(port || 443), rejectUnauthorized: false, timeout: CONNECT_MS };
    const socket = connect({ ...options, ...(isIP(host) === 0 && { servername: host }) }, () => {
      resolve(Math.floor((Date.parse(socket.getPeerCertificate().valid_to) - Date.now()) / 86_400_000));
      socket.end();
    });
    socket.on('timeout', () => socket.destroy(new Error('it took too long')));
    socket.on('error', reject);
  });
