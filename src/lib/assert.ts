// For what cannot happen unless we are wrong.

/** Ends a switch over a tagged union: a new kind without a case is a type error here. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`);
}
