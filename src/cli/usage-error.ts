/** The command line, or a file it names, cannot be used. The message says what to do; no stack is shown. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
