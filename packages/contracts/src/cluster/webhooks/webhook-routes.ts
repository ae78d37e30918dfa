import { adminRoute, type ClusterRoute, team } from '../route.js';
import { webhookPutSchema, webhookReplaySchema } from './webhook.js';

const webhooks = `${team}/webhooks/`;
const one = `${webhooks}{webhook}/`;

/** Events of a team, posted to addresses that it names. They receive what administrators may see. */
export const webhookRoutes = [
  {
    ...adminRoute('listWebhooks', 'get', webhooks),
    summary: 'List the webhooks of the team, by name',
    answers: { 200: 'webhookList' },
  },
  {
    ...adminRoute('putWebhook', 'put', one),
    summary: 'Create a webhook and show its secret, only once; or change its URL and kinds',
    answers: { 200: 'webhook', 201: 'createdWebhook' },
    problems: ['quota_exceeded'],
    body: webhookPutSchema,
  },
  {
    ...adminRoute('getWebhook', 'get', one),
    summary: 'Show one webhook, and whether its receiver accepts messages',
    answers: { 200: 'webhook' },
  },
  {
    ...adminRoute('deleteWebhook', 'delete', one),
    summary: 'Delete a webhook; nothing more is sent',
    endsAccess: true,
    answers: { 204: null },
  },
  {
    ...adminRoute('createWebhookSecret', 'post', `${one}secret/`),
    summary: 'Replace the secret of a webhook and show the new one, only once',
    answers: { 201: 'webhookSecret' },
  },
  {
    ...adminRoute('testWebhook', 'post', `${one}test/`),
    summary: 'Send a message of the type `test` next; a failing receiver is tried at once',
    answers: { 200: 'webhook' },
  },
  {
    ...adminRoute('replayWebhook', 'post', `${one}replay/`),
    summary: 'Send the events from a time on again, in their order',
    answers: { 200: 'webhook' },
    body: webhookReplaySchema,
  },
] as const satisfies readonly ClusterRoute[];
