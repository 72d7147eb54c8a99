// In: a time in milliseconds. Out: RFC 3339 as Go programs write it, with no zeros at the end of the fraction.

/** Go's time of nothing, shown where something never happened. */
export const NEVER = '0001-01-01T00:00:00Z';

export function rfc3339(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.?0*Z$/, 'Z');
}
