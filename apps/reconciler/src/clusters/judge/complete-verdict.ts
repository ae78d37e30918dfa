import type { Authorities, Catalogue } from '../../garden/catalogue.js';
import type { Desired, Observed, Verdict } from '../model.js';
import { factsOf } from '../observe.js';

interface CompleteDeps {
  readonly catalogue: Catalogue;
  readonly authorities: Authorities;
}

/** What a pass has read. */
interface Looked {
  readonly wanted: Desired | null;
  readonly seen: Observed | null;
}

/** Adds to a verdict what the garden has in other places than the Shoot. Never rejects: without an answer, the known values stay. */
export async function completedVerdict(
  deps: CompleteDeps,
  looked: Looked,
  verdict: Verdict,
  signal: AbortSignal,
): Promise<Verdict> {
  return withAuthority(deps, looked, await withSupport(deps, verdict, signal), signal);
}

/** Adds the version's end of support. Passes share a catalogue. If it cannot be read, the known value stays. */
async function withSupport({ catalogue }: CompleteDeps, verdict: Verdict, signal: AbortSignal): Promise<Verdict> {
  const { observed } = verdict;
  if (observed === null || observed.kubernetes === null) return verdict;
  const { version } = observed.kubernetes;
  const profile = await catalogue.read(signal).catch(() => null);
  if (profile === null) return verdict;
  const offered = profile.kubernetesVersions.find((each) => each.version === version);
  const end = new Date(offered?.expirationDate ?? '');
  const supportedUntil = Number.isNaN(end.getTime()) ? null : end.toISOString();
  return { ...verdict, observed: { ...observed, kubernetes: { version, supportedUntil } } };
}

/**
 * Adds the API server's certificate authority. Each process reads it once, and again after a rotation: a restored row may have that of an
 * earlier Shoot. If the garden does not answer, the known value stays.
 */
async function withAuthority(
  { authorities }: CompleteDeps,
  { wanted, seen }: Looked,
  verdict: Verdict,
  signal: AbortSignal,
): Promise<Verdict> {
  const { observed } = verdict;
  if (observed === null || observed.apiServer === null || wanted?.isDeleting !== false || seen?.kind !== 'present') {
    return verdict;
  }
  const { metadata } = seen.shoot;
  const shoot = { namespace: metadata.namespace, name: metadata.name, uid: metadata.uid };
  const before = observed.apiServer.certificateAuthorityData;
  const { authorityRotation: rotation } = factsOf(seen.shoot);
  const certificateAuthorityData = await authorities.read({ ...shoot, rotation }, signal).catch(() => before);
  return { ...verdict, observed: { ...observed, apiServer: { ...observed.apiServer, certificateAuthorityData } } };
}
