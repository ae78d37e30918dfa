import { createClient } from '@corral/client';
import { noteSessionEnd } from './session-end.js';
import { fetchTimed } from './slow-reads.js';

/** The cluster API, which serves this page. Queries repeat reads by themselves, and people repeat changes. */
export const corral = createClient({
  baseUrl: '',
  credentials: 'browser',
  retries: 0,
  // Only this API says whether there is a session: the DNS API may refuse a token that somebody examines.
  fetch: async (url, init) => {
    const answer = await fetchTimed(url, init);
    if (answer.status === 401) noteSessionEnd();
    return answer;
  },
});

/** The body of an answer. */
export const bodyOf = async <B>(answer: Promise<{ readonly body: B }>): Promise<B> => (await answer).body;

/** The entries of a list. */
export const itemsOf = async <T>(answer: Promise<{ readonly body: { readonly items: T } }>): Promise<T> =>
  (await answer).body.items;
