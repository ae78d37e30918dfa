export {
  issueClientCertificate,
  issueServerCertificate,
  type KeyPair,
  makeAuthority,
  type Validity,
} from './certificates.js';
