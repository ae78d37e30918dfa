export const WORKERLESS = 'this field should not be set for workerless Shoot clusters';
