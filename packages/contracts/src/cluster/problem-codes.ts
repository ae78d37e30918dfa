/**
 * All problems of the cluster-management API. Status and title are fixed per code; `meaning` is the text of its page.
 */
export const problemCodes = {
  invalid_json: {
    status: 400,
    title: 'The body is not valid JSON',
    meaning:
      'The body is not valid JSON, is not an object, contains a duplicate member, or is not UTF-8. Send one JSON object.',
  },
  validation_failed: {
    status: 422,
    title: 'The request does not match its schema',
    meaning: '`errors` lists each invalid field by JSON pointer, with the reason. Nothing was changed.',
  },
  immutable_field: {
    status: 422,
    title: 'The field cannot change',
    meaning: 'The named field cannot change once the resource exists, or can change in one direction only.',
  },
  invalid_network: {
    status: 422,
    title: 'The network ranges are not valid',
    meaning: 'A range is not in canonical CIDR form, is too small, is reserved, or overlaps another range.',
  },
  acknowledgement_required: {
    status: 422,
    title: 'The acknowledgement is missing',
    meaning: 'Adopting a server destroys its data. To confirm, send exactly `acknowledge: {"confirm": "WIPE"}`.',
  },
  invalid_node_pool: {
    status: 422,
    title: 'The node pool breaks a rule',
    meaning:
      'A pool needs a unique name, a minimum not above the maximum, a known machine type and image, and enough adopted servers.',
  },
  unsupported_version: {
    status: 422,
    title: 'The Kubernetes version cannot be used',
    meaning: 'The version is unknown or expired, is lower than the current one, or skips a minor version.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'The Idempotency-Key belongs to another request',
    meaning: 'A key identifies one request. Use a new key for a new request.',
  },
  authentication_required: {
    status: 401,
    title: 'Sign-in required',
    meaning: 'There is no session, or it has ended. Sign in and send the cookie `sessionid`.',
  },
  permission_denied: {
    status: 403,
    title: 'Not allowed',
    meaning:
      'Your role in this team, the narrowing of the service account, or a policy of the garden does not allow the request. `detail` says which. ' +
      'Ask an administrator of the team.',
  },
  sign_in_expired: {
    status: 400,
    title: 'The sign-in attempt has expired',
    meaning:
      'The attempt took more than 10 minutes, was already completed, or began in another browser. Start again at `/auth/login/`.',
  },
  sign_in_cancelled: {
    status: 403,
    title: 'The sign-in was cancelled',
    meaning: 'Consent was not given at the identity provider. To sign in, start again at `/auth/login/`.',
  },
  sign_in_refused: {
    status: 403,
    title: 'The sign-in was refused',
    meaning: 'The identity provider refused the sign-in, or its answer is invalid, expired, or for another attempt.',
  },
  invalid_token_request: {
    status: 400,
    title: 'The token request is not valid',
    meaning: '`error` is the code of OAuth, `detail` says which parameter of the form is wrong.',
  },
  invalid_grant: {
    status: 400,
    title: 'The grant is not accepted',
    meaning:
      'A code is wrong, used, expired or refused, or belongs to another request: sign in again. Or the token of an issuer is not valid, or no ' +
      'trusted issuer of the team fits it: the audit log of the team has the reason.',
  },
  authorization_pending: {
    status: 400,
    title: 'Nobody has decided yet',
    meaning:
      'The person has not yet allowed the sign-in of a machine without a browser. Poll again after the interval; with the `error` ' +
      '`slow_down`, after 5 s more.',
  },
  email_not_verified: {
    status: 403,
    title: 'The e-mail address is not verified',
    meaning:
      'A first sign-in needs an e-mail address that the identity provider has verified. Verify it there, then sign in again.',
  },
  another_identity: {
    status: 403,
    title: 'The e-mail address belongs to another identity',
    meaning:
      'The user with this address is linked to another identity of the provider. Ask the operators of the service.',
  },
  subscription_required: {
    status: 403,
    title: 'Subscription required',
    meaning: 'Only teams with an active subscription can start clusters. Drafts need no subscription.',
  },
  invalid_signature: {
    status: 403,
    title: 'The signature is not valid',
    meaning: 'The body was not signed with a configured secret, or not within the last 5 minutes.',
  },
  cross_site_request: {
    status: 403,
    title: 'Request from another site',
    meaning: 'A page of another origin requested a change. Send changes from pages of this service.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    meaning: 'The resource does not exist, or the caller does not have access to it.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    meaning: 'The path does not support this method. `Allow` lists the supported methods.',
  },
  last_admin: {
    status: 409,
    title: 'The team needs an administrator',
    meaning: 'A team needs at least one administrator. Give another member the role `admin` first.',
  },
  already_member: {
    status: 409,
    title: 'Already a member of the team',
    meaning: 'A member of the team has this address. Change the role of the member instead.',
  },
  invitation_expired: {
    status: 409,
    title: 'The invitation has expired',
    meaning: 'Invitations are valid for 14 days. Ask an administrator of the team to renew it.',
  },
  connection_in_use: {
    status: 409,
    title: 'The connection is in use',
    meaning: 'Delete the named clusters and deregister the named servers first.',
  },
  connection_rejected: {
    status: 409,
    title: 'The provider rejects the connection',
    meaning: 'The provider does not accept the token of the connection. Replace the token, then try again.',
  },
  connection_project_mismatch: {
    status: 409,
    title: 'The token belongs to another project',
    meaning:
      'The resources of the connection are not in the project of the new token. Use a token of the same project.',
  },
  last_node_pool: {
    status: 422,
    title: 'The cluster needs a node pool',
    meaning: 'A started cluster needs at least one managed node pool with a maximum above zero.',
  },
  unsupported_by_garden: {
    status: 422,
    title: 'Not supported by this installation',
    meaning: 'The named field needs a feature that this installation does not support or has not enabled.',
  },
  server_claimed: {
    status: 409,
    title: 'The server is in use',
    meaning:
      'The server is already adopted or belongs to a cluster. For a node pool: the servers that it needs are in use.',
  },
  server_not_joining: {
    status: 409,
    title: 'The server cannot join a cluster by command now',
    meaning:
      'A join command is for a dedicated or onprem server that a node pool uses, until its machine is a node. ' +
      '`detail` gives the reason.',
  },
  name_taken: {
    status: 409,
    title: 'The name is on a cluster already',
    meaning:
      'A cluster of the team has this name, one above it or one below it, so both would write the same records. ' +
      'Remove it there first.',
  },
  cluster_deleting: {
    status: 409,
    title: 'The cluster is being deleted',
    meaning: 'Wait until the deletion has finished. Then you can declare a cluster with the same name.',
  },
  deletion_protected: {
    status: 409,
    title: 'The cluster is protected from deletion',
    meaning:
      'The specification of the cluster has `deletionProtection: true`. Set it to false first, then delete the cluster.',
  },
  cluster_not_ready: {
    status: 409,
    title: 'The cluster is not ready',
    meaning: 'The control plane does not answer yet, or the cluster is hibernated.',
  },
  undo_conflict: {
    status: 409,
    title: 'It was changed again since',
    meaning:
      'Undo would take back a later change, too. `detail` names what. The dry run shows who made it and when; send its `tag` as `overwrite` to take ' +
      'that back as well.',
  },
  undo_impossible: {
    status: 422,
    title: 'It cannot be taken back',
    meaning:
      'Nothing of what the entries did can be taken back: `detail` gives the reason, such as a deleted cluster or a revoked token. The dry run has one for ' +
      'each thing.',
  },
  precondition_failed: {
    status: 412,
    title: 'The resource has changed',
    meaning: 'The entity tag is not the current one. Read the resource again, then decide.',
  },
  payload_too_large: { status: 413, title: 'The body is too large', meaning: 'The body is limited to 256 KiB.' },
  unsupported_media_type: {
    status: 415,
    title: 'The body is not JSON',
    meaning:
      'Send uncompressed JSON in UTF-8 with `Content-Type: application/json`. Routes that take a form say so, and need ' +
      '`application/x-www-form-urlencoded`.',
  },
  quota_exceeded: { status: 403, title: 'Quota exceeded', meaning: 'The change would exceed a quota of the team.' },
  rate_limit_exceeded: {
    status: 429,
    title: 'Too many requests',
    meaning: 'Too many requests, or too many concurrent changes of the team. Wait for the time in `Retry-After`.',
  },
  upstream_unavailable: {
    status: 502,
    title: 'The upstream does not answer',
    meaning: 'The garden or the provider cannot be reached or gave no usable answer. Try again in a moment.',
  },
  service_unavailable: {
    status: 503,
    title: 'The service is not available',
    meaning: 'A dependency is unavailable, or the service is overloaded. Try again after the time in `Retry-After`.',
  },
  invalid_http: {
    status: 400,
    title: 'The request is not valid HTTP',
    meaning:
      'The service could not parse an HTTP/1.1 request, its `Host` is missing or not valid, or it expects something other than ' +
      '`100-continue`. The connection is closed.',
  },
  request_timeout: {
    status: 408,
    title: 'The request took too long to arrive',
    meaning: 'Headers must arrive within 10 s, the whole request within 15 s. The connection is closed.',
  },
  headers_too_large: {
    status: 431,
    title: 'The headers are too large',
    meaning: 'Headers are limited to 16 KiB. Send fewer or shorter cookies.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    meaning: 'The service failed. Quote `instance` when you report it.',
  },
} as const satisfies Record<string, { status: number; title: string; meaning: string }>;

export type ProblemCode = keyof typeof problemCodes;
