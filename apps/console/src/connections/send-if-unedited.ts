import { isCorralError } from '@corral/client';

/** The parts of a resource that tell whether people have changed it. */
export interface Versioned {
  readonly metadata: { readonly generation: number; readonly etag: string };
}

const ATTEMPTS_MAX = 3;

/**
 * Sends a conditional change. Entity tags move with the status too, so a 412 alone proves no conflict: while the resource
 * has the generation that the person saw, the change is sent again with the new tag.
 *
 * @param seen the resource as it was when the person began
 * @param readNow reads the resource
 * @throws CorralError `precondition_failed` if someone has changed the resource meanwhile
 */
export async function sendIfUnedited<T>(
  seen: Versioned,
  readNow: () => Promise<Versioned>,
  send: (etag: string) => Promise<T>,
): Promise<T> {
  let { etag } = seen.metadata;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send(etag);
    } catch (error) {
      if (!isCorralError(error) || error.status !== 412 || attempt === ATTEMPTS_MAX) throw error;
      const now = await readNow();
      if (now.metadata.generation !== seen.metadata.generation) throw error;
      etag = now.metadata.etag;
    }
  }
}
