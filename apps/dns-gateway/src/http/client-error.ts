import { clientErrorRenderer } from '@corral/service';

/** Answers what is no HTTP request in the shape of this API. */
export const renderClientError = clientErrorRenderer({
  contentType: 'application/json; charset=utf-8',
  bodyOf: ({ message }) => JSON.stringify({ error: { code: 'invalid_input', message, details: null } }),
});
