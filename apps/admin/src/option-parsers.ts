import { InvalidArgumentError } from 'commander';

/** Reads the value of an option as a whole number from 1 on. */
export const wholeNumber = (max: number) => (text: string) => {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > max) throw new InvalidArgumentError(`Use a whole number from 1 to ${max}.`);
  return value;
};
