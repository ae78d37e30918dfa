import { createClient } from '@corral/client';

/** The cluster API, which serves this page. Queries repeat reads by themselves, and people repeat changes. */
export const corral = createClient({ baseUrl: '', credentials: 'browser', retries: 0 });

/** The body of an answer. */
export const bodyOf = async <B>(answer: Promise<{ readonly body: B }>): Promise<B> => (await answer).body;
