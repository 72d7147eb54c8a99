/** Ends the agent with a message that says why. */
export class FatalError extends Error {
  override readonly name = 'FatalError';
}
