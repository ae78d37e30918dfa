/** What the operator asked for cannot be done as asked; the message is a sentence that says what to do. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}
