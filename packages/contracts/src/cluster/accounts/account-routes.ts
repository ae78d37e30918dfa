import { type ClusterRoute, team } from '../route.js';
import { accountTokenPostSchema, serviceAccountPutSchema } from './service-account.js';

const accounts = `${team}/service-accounts/`;
const tokens = `${accounts}{account}/tokens/`;

/** Access of programs. Only people create credentials, so that none outlives the decision of a person. */
export const accountRoutes = [
  {
    operationId: 'listServiceAccounts',
    method: 'get',
    path: accounts,
    summary: 'List the service accounts of the team, by name',
    access: 'admin',
    people: true,
    answers: { 200: 'serviceAccountList' },
    problems: [],
  },
  {
    operationId: 'putServiceAccount',
    method: 'put',
    path: `${accounts}{account}/`,
    summary: 'Create a service account, or change its role and narrowing, effective with its next request',
    access: 'admin',
    people: true,
    answers: { 200: 'serviceAccount', 201: 'serviceAccount' },
    problems: ['quota_exceeded'],
    body: serviceAccountPutSchema,
  },
  {
    operationId: 'getServiceAccount',
    method: 'get',
    path: `${accounts}{account}/`,
    summary: 'Show one service account',
    access: 'admin',
    people: true,
    answers: { 200: 'serviceAccount' },
    problems: [],
  },
  {
    operationId: 'deleteServiceAccount',
    method: 'delete',
    path: `${accounts}{account}/`,
    summary: 'Delete a service account; its tokens end at once',
    access: 'admin',
    people: true,
    answers: { 204: null },
    problems: [],
  },
  {
    operationId: 'listAccountTokens',
    method: 'get',
    path: tokens,
    summary: 'List the tokens of a service account, newest first, without their texts',
    access: 'admin',
    people: true,
    answers: { 200: 'accountTokenList' },
    problems: [],
  },
  {
    operationId: 'createAccountToken',
    method: 'post',
    path: tokens,
    summary: 'Create a token of a service account and show it, only once',
    access: 'admin',
    people: true,
    answers: { 201: 'createdAccountToken' },
    problems: ['quota_exceeded'],
    body: accountTokenPostSchema,
  },
  {
    operationId: 'revokeAccountToken',
    method: 'delete',
    path: `${tokens}{id}/`,
    summary: 'Revoke a token permanently, effective with its next request',
    access: 'admin',
    people: true,
    answers: { 204: null },
    problems: [],
  },
] as const satisfies readonly ClusterRoute[];
