import { adminRoute, type ClusterRoute, team } from '../route.js';
import { accountTokenPostSchema, serviceAccountPutSchema } from './service-account.js';
import { trustedIssuerPutSchema } from './trusted-issuer.js';

const accounts = `${team}/service-accounts/`;
const tokens = `${accounts}{account}/tokens/`;
const issuers = `${team}/trusted-issuers/`;

/** Access of programs. Only people create credentials, so that none outlives the decision of a person. */
export const accountRoutes = [
  {
    ...adminRoute('listServiceAccounts', 'get', accounts),
    summary: 'List the service accounts of the team, by name',
    answers: { 200: 'serviceAccountList' },
  },
  {
    ...adminRoute('putServiceAccount', 'put', `${accounts}{account}/`),
    summary: 'Create a service account, or change its role and narrowing, effective with its next request',
    answers: { 200: 'serviceAccount', 201: 'serviceAccount' },
    problems: ['quota_exceeded'],
    body: serviceAccountPutSchema,
  },
  {
    ...adminRoute('getServiceAccount', 'get', `${accounts}{account}/`),
    summary: 'Show one service account',
    answers: { 200: 'serviceAccount' },
  },
  {
    ...adminRoute('deleteServiceAccount', 'delete', `${accounts}{account}/`),
    summary: 'Delete a service account; its tokens end at once',
    endsAccess: true,
    answers: { 204: null },
  },
  {
    ...adminRoute('listAccountTokens', 'get', tokens),
    summary: 'List the tokens of a service account, newest first, without their texts',
    answers: { 200: 'accountTokenList' },
  },
  {
    ...adminRoute('createAccountToken', 'post', tokens),
    summary: 'Create a token of a service account and show it, only once',
    answers: { 201: 'createdAccountToken' },
    problems: ['quota_exceeded'],
    body: accountTokenPostSchema,
  },
  {
    ...adminRoute('revokeAccountToken', 'delete', `${tokens}{id}/`),
    summary: 'Revoke a token permanently, effective with its next request',
    endsAccess: true,
    answers: { 204: null },
  },
  {
    ...adminRoute('listTrustedIssuers', 'get', issuers),
    summary: 'List the issuers whose tokens the team exchanges, by name',
    answers: { 200: 'trustedIssuerList' },
  },
  {
    ...adminRoute('putTrustedIssuer', 'put', `${issuers}{issuer}/`),
    summary: 'Trust an issuer, or change its conditions; tokens by exchange with it end at once',
    answers: { 200: 'trustedIssuer', 201: 'trustedIssuer' },
    problems: ['quota_exceeded'],
    body: trustedIssuerPutSchema,
  },
  {
    ...adminRoute('getTrustedIssuer', 'get', `${issuers}{issuer}/`),
    summary: 'Show one trusted issuer',
    answers: { 200: 'trustedIssuer' },
  },
  {
    ...adminRoute('deleteTrustedIssuer', 'delete', `${issuers}{issuer}/`),
    summary: 'Trust an issuer no longer; tokens by exchange with it end at once',
    endsAccess: true,
    answers: { 204: null },
  },
] as const satisfies readonly ClusterRoute[];
