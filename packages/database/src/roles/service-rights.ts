/** The services that have a role in Postgres. Operators use the owner of the tables. */
export const databaseServices = ['dns-gateway', 'cluster-api', 'reconciler'] as const;
export type DatabaseService = (typeof databaseServices)[number];

/**
 * The rights on one table: words of `select insert update delete lock`. `lock` permits `SELECT … FOR UPDATE` and its weaker
 * forms without `update`: Postgres asks for the right to update one column, which is the time of the row's creation.
 */
export interface ServiceRights {
  readonly tables: { readonly [table: string]: string };
  /** Whether the service sends or takes jobs, which are in Postgres when there is no Redis. */
  readonly queue: boolean;
}

/**
 * What each service may do, by table. A table that is not listed is closed to the service. Triggers run with the rights of the
 * service that caused them: every change that is shown live inserts into `team_event`. Foreign keys need no rights.
 */
export const serviceRights: { readonly [service in DatabaseService]: ServiceRights } = {
  'dns-gateway': {
    queue: false,
    tables: {
      _prisma_migrations: 'select',
      course_code: 'select lock',
      demo: 'select insert update',
      dns_action: 'select insert update',
      dns_action_poll: 'select insert update',
      dns_audit_entry: 'select insert update delete',
      dns_request_count: 'select insert update',
      dns_rrset: 'select insert update delete',
      dns_token: 'select insert update',
      dns_zone: 'select',
      installation_hold: 'select',
      service_process: 'select insert update delete',
      team: 'select lock',
      team_event: 'insert',
      upstream_budget: 'select insert update',
    },
  },
  'cluster-api': {
    queue: true,
    tables: {
      _prisma_migrations: 'select',
      adopted_server: 'select insert update',
      app_user: 'select insert update',
      audit_entry: 'select insert update',
      billing_event: 'select insert',
      cluster: 'select insert update delete',
      connection: 'select insert update delete',
      demo: 'select',
      device_sign_in: 'select insert update',
      dns_audit_entry: 'select',
      dns_request_count: 'select',
      dns_rrset: 'select',
      dns_token: 'select insert update',
      dns_zone: 'select',
      garden_cleanup: 'select insert',
      hosted_name: 'select insert update delete',
      idempotency_key: 'select insert',
      installation_hold: 'select',
      invitation: 'select insert update delete',
      membership: 'select insert update delete',
      node_pool: 'select insert update delete',
      operation: 'select insert update',
      price_list: 'select insert update',
      service_process: 'select insert update delete',
      service_account: 'select insert update delete',
      service_account_token: 'select insert update delete',
      session: 'select insert update',
      sign_in_code: 'select insert update delete',
      subscription: 'select insert update',
      team: 'select update',
      team_address: 'select',
      team_change_lock: 'select insert update',
      team_event: 'select insert',
      trusted_issuer: 'select insert update delete',
      upstream_budget: 'select',
      usage_hour: 'select',
      user_identity: 'select insert delete',
      webhook: 'select insert update delete',
    },
  },
  reconciler: {
    queue: true,
    tables: {
      _prisma_migrations: 'select',
      adopted_server: 'select update delete',
      app_user: 'select',
      audit_entry: 'select insert delete lock',
      billing_event: 'select delete lock',
      cluster: 'select update delete',
      connection: 'select update',
      demo: 'select update delete',
      device_sign_in: 'select delete lock',
      dns_action: 'select insert update delete',
      dns_action_poll: 'select insert update',
      dns_audit_entry: 'select insert update delete',
      dns_request_count: 'select delete lock',
      dns_rrset: 'select insert update delete',
      dns_sync_run: 'select insert update delete',
      dns_sync_seen: 'select insert delete',
      dns_token: 'select insert update delete',
      dns_zone: 'select insert update',
      garden_cleanup: 'select update delete',
      hosted_name: 'select update delete',
      hold_finding: 'select insert update',
      idempotency_key: 'select delete lock',
      installation_hold: 'select',
      invitation: 'select update delete',
      leadership: 'select insert update',
      membership: 'select',
      node_pool: 'select',
      notification: 'select insert update delete',
      operation: 'select insert update delete',
      operation_total: 'select insert update',
      operator_act: 'select delete lock',
      price_list: 'select insert update',
      service_account: 'select',
      service_account_token: 'select',
      service_process: 'select insert update delete',
      session: 'select delete lock',
      team: 'select update',
      team_address: 'select insert update delete',
      team_event: 'select insert delete lock',
      upstream_budget: 'select insert update',
      usage_hour: 'select insert update delete',
      webhook: 'select update',
    },
  },
};

/** Tables whose time of creation has another name. */
const createdAt: { readonly [table: string]: string } = { billing_event: 'received_at', dns_request_count: 'minute' };

/** The rights on a table as SQL: `SELECT, UPDATE (created_at)`. */
export const sqlOfRights = (table: string, rights: string): string =>
  rights
    .split(' ')
    .map((right) => (right === 'lock' ? `UPDATE (${createdAt[table] ?? 'created_at'})` : right.toUpperCase()))
    .join(', ');
