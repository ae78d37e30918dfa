import { type FieldError, invalid } from '../kube/field-error.js';

const dnsLabel = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const dnsSubdomain = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

const isDnsLabel = (name: string): boolean => name.length <= 63 && dnsLabel.test(name);
const isDnsSubdomain = (name: string): boolean => name.length <= 253 && dnsSubdomain.test(name);

const labelRule =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomainRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

export const checkDnsLabel = (field: string, name: string): FieldError[] =>
  isDnsLabel(name) ? [] : [invalid(field, name, name.length > 63 ? 'must be no more than 63 characters' : labelRule)];

export const checkDnsSubdomain = (field: string, name: string): FieldError[] =>
  isDnsSubdomain(name)
    ? []
    : [invalid(field, name, name.length > 253 ? 'must be no more than 253 characters' : subdomainRule)];
