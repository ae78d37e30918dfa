import { portOrFree, secret, text, url } from '@corral/service';

const freePort = 'Default: any free port.';

/** The environment variables of `npm start`. */
export const startConfig = {
  DNS_ZONE_NAME: text({ default: 'example.test', desc: 'Zone to serve.' }),
  DEMO_ZONE_NAME: text({
    default: undefined,
    desc: 'Zone of the demos. Default: demo.<DNS_ZONE_NAME>, or no demos with your own upstream.',
  }),
  DNS_GATEWAY_PORT: portOrFree({ default: undefined, desc: `Port of the DNS gateway. ${freePort}` }),
  DNS_GATEWAY_TLS_PORT: portOrFree({
    default: undefined,
    desc: `TLS port of the DNS gateway. Clients with a built-in address need 443. ${freePort}`,
  }),
  CLUSTER_API_PORT: portOrFree({ default: undefined, desc: `Port of the cluster API. ${freePort}` }),
  LOCAL_CLOUD_API_PORT: portOrFree({ default: undefined, desc: `Port of the local cloud’s API. ${freePort}` }),
  LOCAL_CLOUD_DNS_PORT: portOrFree({ default: undefined, desc: `Port of its DNS server. ${freePort}` }),
  LOCAL_CLOUD_ADMIN_PORT: portOrFree({ default: undefined, desc: `Port of its admin address. ${freePort}` }),
  LOCAL_CLOUD_SMTP_PORT: portOrFree({ default: undefined, desc: `Port of its mail server. ${freePort}` }),
  LOCAL_CLOUD_GARDEN_PORT: portOrFree({ default: undefined, desc: `Port of its garden. ${freePort}` }),
  CORRAL_STATE_DIR: text({ default: undefined, desc: 'Directory for the state. Default: .corral/ in the checkout.' }),
  DATABASE_URL: secret({ default: undefined, desc: 'Postgres to use instead of the embedded one.' }),
  REDIS_URL: secret({ default: undefined, desc: 'Redis for the queue and the request limits.' }),
  HCLOUD_API_URL: url({ default: undefined, desc: 'Upstream to use instead of the local cloud.' }),
  HCLOUD_TOKEN: secret({
    default: undefined,
    desc: 'API token for HCLOUD_API_URL.',
    requiredWhen: (config) => config.HCLOUD_API_URL !== undefined,
  }),
  SMTP_URL: url({
    default: undefined,
    protocols: ['smtp', 'smtps'],
    desc: 'Mail server to use instead of the local one. Set MAIL_FROM as well.',
  }),
  GARDEN_KUBECONFIG: text({
    default: undefined,
    desc: 'Kubeconfig file of a garden to use instead of the local one.',
  }),
};
