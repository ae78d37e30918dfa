import { type ClusterRoute, team } from '../route.js';
import { webhookPutSchema, webhookReplaySchema } from './webhook.js';

const webhooks = `${team}/webhooks/`;
const one = `${webhooks}{webhook}/`;
/** They receive what administrators may see. */
const access = { access: 'admin', people: true } as const;

/** Events of a team, posted to addresses that it names. */
export const webhookRoutes = [
  {
    operationId: 'listWebhooks',
    method: 'get',
    path: webhooks,
    summary: 'List the webhooks of the team, by name',
    ...access,
    answers: { 200: 'webhookList' },
  },
  {
    operationId: 'putWebhook',
    method: 'put',
    path: one,
    summary: 'Create a webhook and show its secret, only once; or change its URL and kinds',
    ...access,
    answers: { 200: 'webhook', 201: 'createdWebhook' },
    problems: ['quota_exceeded'],
    body: webhookPutSchema,
  },
  {
    operationId: 'getWebhook',
    method: 'get',
    path: one,
    summary: 'Show one webhook, and whether its receiver accepts messages',
    ...access,
    answers: { 200: 'webhook' },
  },
  {
    operationId: 'deleteWebhook',
    method: 'delete',
    path: one,
    summary: 'Delete a webhook; nothing more is sent',
    ...access,
    endsAccess: true,
    answers: { 204: null },
  },
  {
    operationId: 'createWebhookSecret',
    method: 'post',
    path: `${one}secret/`,
    summary: 'Replace the secret of a webhook and show the new one, only once',
    ...access,
    answers: { 201: 'webhookSecret' },
  },
  {
    operationId: 'testWebhook',
    method: 'post',
    path: `${one}test/`,
    summary: 'Send a message of the type `test` next; a failing receiver is tried at once',
    ...access,
    answers: { 200: 'webhook' },
  },
  {
    operationId: 'replayWebhook',
    method: 'post',
    path: `${one}replay/`,
    summary: 'Send the events from a time on again, in their order',
    ...access,
    answers: { 200: 'webhook' },
    body: webhookReplaySchema,
  },
] as const satisfies readonly ClusterRoute[];
