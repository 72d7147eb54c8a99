// Tells the tests that ran in a machine to the one outside: a line of JSON for each, among whatever else is printed.
import type { TestEvent } from 'node:test/reporters';

export const REPORT = '@test ';
/** What a test has to tell beside: figures, most of all. */
export const NOTE = '@note ';

export interface InsideReport {
  readonly name: string;
  readonly nesting: number;
  readonly isOk: boolean;
  readonly isSuite: boolean;
  readonly durationMs: number;
  readonly error?: string;
}

export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of source) {
    if (event.type === 'test:diagnostic' && event.data.nesting > 0) yield `${NOTE}${event.data.message}\n`;
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    const { name, nesting, details } = event.data;
    const line: InsideReport = {
      name,
      nesting,
      isOk: event.type === 'test:pass',
      isSuite: details.type === 'suite',
      durationMs: details.duration_ms,
      ...(event.type === 'test:fail' && { error: errorText(event.data.details.error) }),
    };
    yield `${REPORT}${JSON.stringify(line)}\n`;
  }
}

function errorText({ cause, message }: Error): string {
  return cause instanceof Error ? (cause.stack ?? cause.message) : message;
}
