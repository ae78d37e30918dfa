const withStatus =
  <const Status extends number>(status: Status) =>
  (title: string, meaning: string) => ({ status, title, meaning });
const badRequest = withStatus(400);
const forbidden = withStatus(403);
const conflict = withStatus(409);
const unprocessable = withStatus(422);

/**
 * All problems of the cluster-management API. Status and title are fixed per code; `meaning` is the text of its page.
 */
export const problemCodes = {
  invalid_json: badRequest(
    'The body is not valid JSON',
    'The body is not valid JSON, is not an object, contains a duplicate member, or is not UTF-8. Send one JSON object.',
  ),
  validation_failed: unprocessable(
    'The request does not match its schema',
    '`errors` lists each invalid field by JSON pointer, with the reason. Nothing was changed.',
  ),
  immutable_field: unprocessable(
    'The field cannot change',
    'The named field cannot change once the resource exists, or can change in one direction only.',
  ),
  invalid_network: unprocessable(
    'The network ranges are not valid',
    'A range is not in canonical CIDR form, is too small, is reserved, or overlaps another range.',
  ),
  acknowledgement_required: unprocessable(
    'The acknowledgement is missing',
    'Adopting a server destroys its data. To confirm, send exactly `acknowledge: {"confirm": "WIPE"}`.',
  ),
  invalid_node_pool: unprocessable(
    'The node pool breaks a rule',
    'A pool needs a unique name, a minimum not above the maximum, a known machine type and image, and enough adopted servers.',
  ),
  unsupported_version: unprocessable(
    'The Kubernetes version cannot be used',
    'The version is unknown or expired, is lower than the current one, or skips a minor version.',
  ),
  idempotency_key_reused: unprocessable(
    'The Idempotency-Key belongs to another request',
    'A key identifies one request. Use a new key for a new request.',
  ),
  authentication_required: withStatus(401)(
    'Sign-in required',
    'There is no session, or it has ended. Sign in and send the cookie `sessionid`.',
  ),
  permission_denied: forbidden(
    'Not allowed',
    'Your role in this team, the narrowing of the service account, or a policy of the garden does not allow the request. `detail` says which. ' +
      'Ask an administrator of the team.',
  ),
  sign_in_expired: badRequest(
    'The sign-in attempt has expired',
    'The attempt took more than 10 minutes, was already completed, or began in another browser. Start again at `/auth/login/`.',
  ),
  sign_in_cancelled: forbidden(
    'The sign-in was cancelled',
    'Consent was not given at the identity provider. To sign in, start again at `/auth/login/`.',
  ),
  sign_in_refused: forbidden(
    'The sign-in was refused',
    'The identity provider refused the sign-in, or its answer is invalid, expired, or for another attempt.',
  ),
  invalid_token_request: badRequest(
    'The token request is not valid',
    '`error` is the code of OAuth, `detail` says which parameter of the form is wrong.',
  ),
  invalid_grant: badRequest(
    'The grant is not accepted',
    'A code is wrong, used, expired or refused, or belongs to another request: sign in again. Or the token of an issuer is not valid, or no ' +
      'trusted issuer of the team fits it: the audit log of the team has the reason.',
  ),
  authorization_pending: badRequest(
    'Nobody has decided yet',
    'The person has not yet allowed the sign-in of a machine without a browser. Poll again after the interval; with the `error` ' +
      '`slow_down`, after 5 s more.',
  ),
  email_not_verified: forbidden(
    'The e-mail address is not verified',
    'A first sign-in needs an e-mail address that the identity provider has verified. Verify it there, then sign in again.',
  ),
  another_identity: forbidden(
    'The e-mail address belongs to another identity',
    'The user with this address is linked to another identity of the provider. Ask the operators of the service.',
  ),
  subscription_required: forbidden(
    'Subscription required',
    'Only teams with an active subscription can start clusters. Drafts need no subscription.',
  ),
  invalid_signature: forbidden(
    'The signature is not valid',
    'The body was not signed with a configured secret, or not within the last 5 minutes.',
  ),
  cross_site_request: forbidden(
    'Request from another site',
    'A page of another origin requested a change. Send changes from pages of this service.',
  ),
  not_found: withStatus(404)('Not found', 'The resource does not exist, or the caller does not have access to it.'),
  method_not_allowed: withStatus(405)(
    'Method not allowed',
    'The path does not support this method. `Allow` lists the supported methods.',
  ),
  last_admin: conflict(
    'The team needs an administrator',
    'A team needs at least one administrator. Give another member the role `admin` first.',
  ),
  already_member: conflict(
    'Already a member of the team',
    'A member of the team has this address. Change the role of the member instead.',
  ),
  invitation_expired: conflict(
    'The invitation has expired',
    'Invitations are valid for 14 days. Ask an administrator of the team to renew it.',
  ),
  connection_in_use: conflict(
    'The connection is in use',
    'Delete the named clusters and deregister the named servers first.',
  ),
  connection_rejected: conflict(
    'The provider rejects the connection',
    'The provider does not accept the token of the connection. Replace the token, then try again.',
  ),
  connection_project_mismatch: conflict(
    'The token belongs to another project',
    'The resources of the connection are not in the project of the new token. Use a token of the same project.',
  ),
  last_node_pool: unprocessable(
    'The cluster needs a node pool',
    'A started cluster needs at least one managed node pool with a maximum above zero.',
  ),
  unsupported_by_garden: unprocessable(
    'Not supported by this installation',
    'The named field needs a feature that this installation does not support or has not enabled.',
  ),
  server_claimed: conflict(
    'The server is in use',
    'The server is already adopted or belongs to a cluster. For a node pool: the servers that it needs are in use.',
  ),
  server_not_joining: conflict(
    'The server cannot join a cluster by command now',
    'A join command is for a dedicated or onprem server that a node pool uses, until its machine is a node. ' +
      '`detail` gives the reason.',
  ),
  name_taken: conflict(
    'The name is on a cluster already',
    'A cluster of the team has this name, one above it or one below it, so both would write the same records. ' +
      'Remove it there first.',
  ),
  cluster_deleting: conflict(
    'The cluster is being deleted',
    'Wait until the deletion has finished. Then you can declare a cluster with the same name.',
  ),
  deletion_protected: conflict(
    'The cluster is protected from deletion',
    'The specification of the cluster has `deletionProtection: true`. Set it to false first, then delete the cluster.',
  ),
  cluster_not_ready: conflict(
    'The cluster is not ready',
    'The control plane does not answer yet, or the cluster is hibernated.',
  ),
  undo_conflict: conflict(
    'It was changed again since',
    'Undo would take back a later change, too. `detail` names what. The dry run shows who made it and when; send its `tag` as `overwrite` to take ' +
      'that back as well.',
  ),
  undo_impossible: unprocessable(
    'It cannot be taken back',
    'Nothing of what the entries did can be taken back: `detail` gives the reason, such as a deleted cluster or a revoked token. The dry run has one for ' +
      'each thing.',
  ),
  precondition_failed: withStatus(412)(
    'The resource has changed',
    'The entity tag is not the current one. Read the resource again, then decide.',
  ),
  payload_too_large: withStatus(413)('The body is too large', 'The body is limited to 256 KiB.'),
  unsupported_media_type: withStatus(415)(
    'The body is not JSON',
    'Send uncompressed JSON in UTF-8 with `Content-Type: application/json`. Routes that take a form say so, and need ' +
      '`application/x-www-form-urlencoded`.',
  ),
  quota_exceeded: forbidden('Quota exceeded', 'The change would exceed a quota of the team.'),
  rate_limit_exceeded: withStatus(429)(
    'Too many requests',
    'Too many requests, or too many concurrent changes of the team. Wait for the time in `Retry-After`.',
  ),
  upstream_unavailable: withStatus(502)(
    'The upstream does not answer',
    'The garden or the provider cannot be reached or gave no usable answer. Try again in a moment.',
  ),
  service_unavailable: withStatus(503)(
    'The service is not available',
    'A dependency is unavailable, or the service is overloaded. Try again after the time in `Retry-After`.',
  ),
  invalid_http: badRequest(
    'The request is not valid HTTP',
    'The service could not parse an HTTP/1.1 request, its `Host` is missing or not valid, or it expects something other than ' +
      '`100-continue`. The connection is closed.',
  ),
  request_timeout: withStatus(408)(
    'The request took too long to arrive',
    'Headers must arrive within 10 s, the whole request within 15 s. The connection is closed.',
  ),
  headers_too_large: withStatus(431)(
    'The headers are too large',
    'Headers are limited to 16 KiB. Send fewer or shorter cookies.',
  ),
  internal_error: withStatus(500)('Internal error', 'The service failed. Quote `instance` when you report it.'),
} as const satisfies Record<string, { status: number; title: string; meaning: string }>;

export type ProblemCode = keyof typeof problemCodes;
