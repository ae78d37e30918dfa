import { portOrFree, secret, text, url } from '@corral/service';

const freePort = 'Any free one if not set.';

/** What can be set in the environment of `npm start`. */
export const startConfig = {
  DNS_ZONE_NAME: text({ default: 'example.test', desc: 'The zone that is served.' }),
  DEMO_ZONE_NAME: text({
    default: undefined,
    desc: 'The zone of the demos. demo.<DNS_ZONE_NAME> if not set; with an upstream of your own, no demos then.',
  }),
  DNS_GATEWAY_PORT: portOrFree({ default: undefined, desc: `Port of the DNS gateway. ${freePort}` }),
  DNS_GATEWAY_TLS_PORT: portOrFree({
    default: undefined,
    desc: `Port of the DNS gateway for TLS; clients with a built-in address ask 443. ${freePort}`,
  }),
  CLUSTER_API_PORT: portOrFree({ default: undefined, desc: `Port of the cluster API. ${freePort}` }),
  LOCAL_CLOUD_API_PORT: portOrFree({ default: undefined, desc: `Port of the local cloud’s API. ${freePort}` }),
  LOCAL_CLOUD_DNS_PORT: portOrFree({ default: undefined, desc: `Port of its DNS server. ${freePort}` }),
  LOCAL_CLOUD_ADMIN_PORT: portOrFree({ default: undefined, desc: `Port of its admin address. ${freePort}` }),
  LOCAL_CLOUD_SMTP_PORT: portOrFree({ default: undefined, desc: `Port of its mail server. ${freePort}` }),
  LOCAL_CLOUD_GARDEN_PORT: portOrFree({ default: undefined, desc: `Port of its garden. ${freePort}` }),
  CORRAL_STATE_DIR: text({ default: undefined, desc: 'Where the state stays. .corral/ of the checkout if not set.' }),
  DATABASE_URL: secret({ default: undefined, desc: 'A Postgres to use in place of the embedded one.' }),
  REDIS_URL: secret({ default: undefined, desc: 'A Redis for the queue and the request limits.' }),
  HCLOUD_API_URL: url({ default: undefined, desc: 'An upstream to use in place of the local cloud.' }),
  HCLOUD_TOKEN: secret({
    default: undefined,
    desc: 'The token for that upstream.',
    requiredWhen: (config) => config.HCLOUD_API_URL !== undefined,
  }),
  SMTP_URL: url({
    default: undefined,
    protocols: ['smtp', 'smtps'],
    desc: 'A mail server to use in place of the local one, with MAIL_FROM beside it.',
  }),
  GARDEN_KUBECONFIG: text({
    default: undefined,
    desc: 'A garden to use in place of the local one: its kubeconfig file.',
  }),
};
