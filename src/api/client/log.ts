// What this folder asks of a logger: one line per event, a message that stays the same and values that vary.

export interface ApiLog {
  info(message: string, values?: Readonly<Record<string, unknown>>): void;
  error(message: string, values?: Readonly<Record<string, unknown>>): void;
}

export const silentLog: ApiLog = { info: () => {}, error: () => {} };
