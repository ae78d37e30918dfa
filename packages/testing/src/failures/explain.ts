import { currentTestFile } from '../test-file.js';

/**
 * Registers an explanation to print when a test of the current file fails: a seed, the last events, the location of
 * kept data. Evaluated before the hooks that clean up. Has no effect outside of tests.
 *
 * @param explain returns '' when there is nothing to report. An error it throws is printed instead.
 * @returns a function that removes the explanation
 */
export function explainFailures(title: string, explain: () => string | Promise<string>): () => void {
  const file = currentTestFile();
  const explanation = { title, explain };
  file?.explanations.add(explanation);
  return () => void file?.explanations.delete(explanation);
}

/** Prints and keeps the output of a process when a test of the current file fails. */
export function explainByOutput(name: string, output: () => string): void {
  currentTestFile()?.processes.push({ name, output });
}
