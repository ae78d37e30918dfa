/** Every problem of the cluster-management API: status and title belong to the code; `meaning` is its page. */
export const problemCodes = {
  invalid_json: {
    status: 400,
    title: 'The body is not valid JSON',
    meaning: 'The body cannot be parsed, is no object, has a member twice, or is not UTF-8. Send one JSON object.',
  },
  validation_failed: {
    status: 422,
    title: 'The request does not fit its schema',
    meaning: '`errors` names each wrong place by JSON pointer, with what is wrong there. Nothing was written.',
  },
  immutable_field: {
    status: 422,
    title: 'The field cannot change',
    meaning: 'The named field is fixed once the resource exists, or can change in one direction only.',
  },
  invalid_network: {
    status: 422,
    title: 'The network ranges do not fit',
    meaning: 'A range is not in canonical CIDR form, is too small, is reserved, or overlaps another one.',
  },
  acknowledgement_required: {
    status: 422,
    title: 'The acknowledgement is missing',
    meaning: 'Adopting a server destroys its data. Send `acknowledge: {"confirm": "WIPE"}` exactly.',
  },
  invalid_node_pool: {
    status: 422,
    title: 'The node pool breaks a rule',
    meaning:
      'Names unique in a cluster, minimum at most maximum, a known machine type and image, enough adopted servers.',
  },
  unsupported_version: {
    status: 422,
    title: 'The Kubernetes version cannot be used',
    meaning: 'The version is unknown or expired, lower than the present one, or skips a minor version.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'The Idempotency-Key belongs to another request',
    meaning: 'A key names one request. Take a new key for a new request.',
  },
  authentication_required: {
    status: 401,
    title: 'Sign-in required',
    meaning: 'There is no session, or it has ended. Sign in and send the cookie `sessionid`.',
  },
  permission_denied: {
    status: 403,
    title: 'Not allowed',
    meaning: 'The role in this team does not cover the request. Ask an administrator of the team.',
  },
  sign_in_expired: {
    status: 400,
    title: 'The sign-in attempt is over',
    meaning:
      'It took more than 10 minutes, was finished before, or began in another browser. Start again at `/auth/login/`.',
  },
  sign_in_cancelled: {
    status: 403,
    title: 'The sign-in was cancelled',
    meaning:
      'The identity provider says that consent was not given. Start again at `/auth/login/` to sign in after all.',
  },
  sign_in_refused: {
    status: 403,
    title: 'The sign-in was refused',
    meaning:
      'The identity provider refused it, or gave an answer that is not its own, not for this attempt, or out of date.',
  },
  email_not_verified: {
    status: 403,
    title: 'The e-mail address is not verified',
    meaning:
      'Who is new here needs an address that the identity provider vouches for. Verify it there, then sign in again.',
  },
  another_identity: {
    status: 403,
    title: 'The e-mail address belongs to another identity',
    meaning:
      'Whoever has the address here signs in as another person of the identity provider. Ask the operators of the service.',
  },
  subscription_required: {
    status: 403,
    title: 'Subscription required',
    meaning: 'Here a cluster is started for teams with an active subscription. Drafts need none.',
  },
  invalid_signature: {
    status: 403,
    title: 'The signature does not hold',
    meaning: 'The body was not signed with a secret that is known here, or not within the last 5 minutes.',
  },
  cross_site_request: {
    status: 403,
    title: 'Request from another site',
    meaning: 'A change was asked for by a page of another origin.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    meaning: 'There is no such thing, or not for this caller.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    meaning: 'The path exists, the method does not. `Allow` lists those that do.',
  },
  last_admin: {
    status: 409,
    title: 'The last administrator stays',
    meaning: 'A team keeps at least one administrator. Make somebody else one first.',
  },
  already_member: {
    status: 409,
    title: 'A member of the team already',
    meaning: 'Whoever has that address belongs to the team. Change the role of the member instead.',
  },
  invitation_expired: {
    status: 409,
    title: 'The invitation has run out',
    meaning: 'Invitations hold for 14 days. Ask an administrator of the team to renew it.',
  },
  connection_in_use: {
    status: 409,
    title: 'The connection is in use',
    meaning: 'Delete the named clusters and deregister the named servers first.',
  },
  connection_rejected: {
    status: 409,
    title: 'The provider rejects the connection',
    meaning: 'The token of the connection is not accepted by the provider. Replace it, then try again.',
  },
  connection_project_mismatch: {
    status: 409,
    title: 'The token belongs to another project',
    meaning: 'What the connection owns is not in the project of the new token. Use a token of the same project.',
  },
  last_node_pool: {
    status: 422,
    title: 'The last node pool stays',
    meaning: 'A cluster that was started keeps at least one managed node pool that can have nodes.',
  },
  unsupported_by_garden: {
    status: 422,
    title: 'Not supported by this installation',
    meaning: 'The named field asks for what this installation cannot do, or what its operators have not enabled.',
  },
  server_claimed: {
    status: 409,
    title: 'The server has an owner',
    meaning:
      'The server was adopted already, or belongs to a cluster. Of a node pool: the servers that it wants are in use.',
  },
  server_not_joining: {
    status: 409,
    title: 'The server joins no cluster by command now',
    meaning:
      'A join command is for a dedicated or onprem server that a node pool draws on, until its machine is a node. ' +
      '`detail` says what is in the way.',
  },
  cluster_deleting: {
    status: 409,
    title: 'The cluster is being deleted',
    meaning: 'Wait until it is gone. A cluster of the same name can be declared then.',
  },
  cluster_not_ready: {
    status: 409,
    title: 'The cluster is not ready',
    meaning: 'The control plane does not answer yet, or not while hibernated.',
  },
  precondition_failed: {
    status: 412,
    title: 'The resource has changed',
    meaning: 'The entity tag is not the present one. Read the resource, and decide anew.',
  },
  payload_too_large: {
    status: 413,
    title: 'The body is too large',
    meaning: 'A body has at most 256 KiB.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body is not JSON',
    meaning: 'Send `Content-Type: application/json`, in UTF-8, not compressed.',
  },
  quota_exceeded: {
    status: 403,
    title: 'Quota exceeded',
    meaning: 'The change would take the team past its quota.',
  },
  rate_limit_exceeded: {
    status: 429,
    title: 'Too many requests',
    meaning: 'Too many requests, or changes of the team at once. Wait for the time in `Retry-After`.',
  },
  upstream_unavailable: {
    status: 502,
    title: 'The upstream does not answer',
    meaning: 'The garden or the provider cannot be reached or gave no usable answer. Try again in a moment.',
  },
  service_unavailable: {
    status: 503,
    title: 'The service is not available',
    meaning: 'A dependency is away, or there is too much to do here. Try again after the time in `Retry-After`.',
  },
  invalid_http: {
    status: 400,
    title: 'The request is not valid HTTP',
    meaning: 'What arrived cannot be read as an HTTP/1.1 request. The connection is closed.',
  },
  request_timeout: {
    status: 408,
    title: 'The request took too long to arrive',
    meaning: 'Headers have 10 s, the whole request 15 s. The connection is closed.',
  },
  headers_too_large: {
    status: 431,
    title: 'The headers are too large',
    meaning: 'Node.js takes 16 KiB of headers. Send fewer or shorter cookies.',
  },
  internal_error: {
    status: 500,
    title: 'A fault of the service',
    meaning: 'Quote `instance` when you report it.',
  },
} as const satisfies Record<string, { status: number; title: string; meaning: string }>;

export type ProblemCode = keyof typeof problemCodes;
