import type { DnsCaller } from '@corral/auth';
import { asTeamId, type CreateDemo, type DemoBody, dnsLimits, type TeamId } from '@corral/contracts';
import {
  type CreateOutcome,
  type DemoMaker,
  type DemoReach,
  type DemoRecord,
  deleteRemaining,
  drawLabel,
  isLabel,
  isReservedLabel,
  labelOf,
  lastExpiryOf,
} from '@corral/dns-data';
import { DnsError, invalidInput, notFound } from '../dns-error.js';
import type { DemoServices, Services } from '../services.js';

/*
 * Demos: who may create, see, extend and end them. An ended demo is reported like one that never existed.
 */

/** Several taken labels in a row are practically impossible among millions. */
const DRAWS_MAX = 5;

/**
 * @param caller null without a token. Then a course code is required
 * @param from the request's id and client address
 * @throws DnsError `invalid_input` for a name without a valid label, `unauthorized`, `forbidden` for a demo's token or a
 *   wrong course code, `resource_limit_exceeded`, `uniqueness_error`
 */
export async function createDemo(
  { store, zone }: DemoServices,
  caller: DnsCaller | null,
  body: CreateDemo,
  from: { readonly address: string; readonly requestId: string },
): Promise<{ demo: DemoBody; token: string }> {
  const label = body.name == null ? null : parseLabel(body.name);
  const maker = makerOf(caller, body.course_code ?? null, from.address);
  const ttlSeconds = body.ttl ?? dnsLimits.demoTtlSecondsDefault;
  for (let draw = 1; ; draw += 1) {
    const wished = label ?? drawLabel();
    const { id: zoneId } = await zone.read();
    const wanted = { zoneId, label: wished, name: body.name ?? wished, ttlSeconds };
    const outcome = await store.create(maker, wanted, from.requestId);
    if (outcome.kind === 'created') return { demo: demoBody(outcome.demo), token: outcome.token };
    if (outcome.kind !== 'taken' || label !== null || draw === DRAWS_MAX) throw refusalOf(outcome);
  }
}

/** The team's live demos, oldest first. @throws DnsError `forbidden` for a demo's token */
export async function listDemos({ store }: DemoServices, caller: DnsCaller): Promise<DemoBody[]> {
  return (await store.list(teamOf(caller))).map(demoBody);
}

/** @throws DnsError `not_found` */
export async function getDemo({ store }: DemoServices, caller: DnsCaller, label: string): Promise<DemoBody> {
  return demoBody(found(await store.find(...reachOf(caller, label))));
}

/** @throws DnsError `not_found` */
export async function extendDemo(
  { store }: DemoServices,
  caller: DnsCaller,
  { label, ttlSeconds, requestId }: { readonly label: string; readonly ttlSeconds: number; readonly requestId: string },
): Promise<DemoBody> {
  const by = { tokenId: caller.tokenId, requestId };
  return demoBody(found(await store.extend(...reachOf(caller, label), ttlSeconds, by)));
}

/**
 * Ends the demo immediately, and deletes its records as far as currently possible. The end is committed then: the reconciler deletes what
 * could not be deleted because of the budget, the upstream or this process.
 *
 * @throws DnsError `not_found`
 */
export async function endDemo(
  services: Services,
  { store, ends }: DemoServices,
  caller: DnsCaller,
  label: string,
  requestId: string,
): Promise<void> {
  const { ledger, upstream, pause, log, config } = services;
  const by = { tokenId: caller.tokenId, requestId };
  const ended = found(await store.end(...reachOf(caller, label), by));
  try {
    const left = await ends.listRemainingOf(ended.id);
    const deps = { ledger, send: upstream.write, pause, settleAfterMs: config.settleAfterMs };
    await Promise.all(left.map((rrset) => deleteRemaining(deps, rrset, { ...by, account: caller.accountId })));
  } catch (error) {
    log.warn('demo not cleared immediately', { error });
  }
}

function demoBody(demo: DemoRecord): DemoBody {
  return {
    label: demo.label,
    name: demo.name,
    zone: demo.zoneName,
    ttl: demo.ttlSeconds,
    created_at: demo.createdAt.toISOString(),
    expires_at: demo.expiresAt.toISOString(),
    max_expires_at: lastExpiryOf(demo.createdAt).toISOString(),
    records: demo.records,
  };
}

function parseLabel(name: string): string {
  const label = labelOf(name);
  if (label === null) throw invalidInput('name', 'must have at least one letter or digit');
  if (isReservedLabel(label)) throw invalidInput('name', 'is reserved: choose another name');
  return label;
}

/** A token takes precedence. With one, a course code is ignored. */
function makerOf(caller: DnsCaller | null, courseCode: string | null, address: string): DemoMaker {
  if (caller !== null) return { kind: 'team', teamId: teamOf(caller), tokenId: caller.tokenId };
  if (courseCode !== null) return { kind: 'course', code: courseCode, address };
  throw new DnsError(
    'unauthorized',
    'A token or a course code is required. Send an Authorization header, or course_code in the body.',
  );
}

/** @throws DnsError `forbidden` for a demo's token, and for one that was narrowed: a demo would be a way out of that */
function teamOf(caller: DnsCaller): TeamId {
  if (caller.kind === 'demo') {
    throw new DnsError('forbidden', 'The token of a demo cannot create or list demos. Use a token of the team.');
  }
  if (isNarrowed(caller)) {
    throw new DnsError(
      'forbidden',
      'This token is restricted to some names or types, so it cannot create or list demos.',
    );
  }
  return asTeamId(caller.ownerId);
}

function isNarrowed({ withinName, withinTypes }: DnsCaller): boolean {
  return withinName !== null || withinTypes.length > 0;
}

function reachOf(caller: DnsCaller, label: string): [DemoReach, string] {
  if (!isLabel(label)) throw notFound('demo');
  return [caller.kind === 'demo' ? { demoId: caller.ownerId } : { teamId: teamOf(caller) }, label];
}

function found(demo: DemoRecord | null): DemoRecord {
  if (demo === null) throw notFound('demo');
  return demo;
}

const fullOf = {
  team: { who: 'A team can have at most', name: 'demos_per_team' },
  course: { who: 'A course can have at most', name: 'demos_per_course' },
  address: { who: 'In this course, one address can have at most', name: 'demos_per_address' },
} as const;

function refusalOf(outcome: Exclude<CreateOutcome, { kind: 'created' }>): DnsError {
  switch (outcome.kind) {
    case 'unknown_course':
      return new DnsError('forbidden', 'The course code is wrong.');
    case 'full': {
      const { who, name } = fullOf[outcome.of];
      return new DnsError('resource_limit_exceeded', `${who} ${outcome.max} live demos. Delete one first.`, {
        details: { limits: [{ name }] },
      });
    }
    case 'taken':
      return new DnsError(
        'uniqueness_error',
        'Another demo has this name, or had it within the last hour. Choose another name.',
        {
          details: { fields: [{ name: 'name', messages: ['is taken'] }] },
        },
      );
  }
}
