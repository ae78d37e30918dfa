export interface FieldError {
  readonly name: string;
  readonly messages: readonly string[];
}

/** A refusal in the upstream's error format. `details` is always sent, null if there are none. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details: Readonly<Record<string, unknown>> | null = null,
  ) {
    super(message);
  }
}

/** 422 with one message per field. The first message is also the top-level message. */
export function invalidInput(name: string, message: string): ApiError {
  const fields: FieldError[] = [{ name, messages: [message] }];
  return new ApiError(422, 'invalid_input', message, { fields });
}

export const notFound = (what: string): ApiError => new ApiError(404, 'not_found', `${what} not found`);

export const errorBody = (code: string, message: string, details: object | null = null) => ({
  error: { code, message, details },
});
