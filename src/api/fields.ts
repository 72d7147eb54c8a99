// Reads fields out of an object of unknown shape. What is absent is the fallback; what has the wrong type is a problem that
// names the field, and then the fallback too. So a malformed object costs its malformed parts and nothing else.
import type { Problem } from './objects.ts';

type Json = Readonly<Record<string, unknown>>;

export class Fields {
  readonly #value: Json;
  readonly #path: string;
  readonly #object: string;
  readonly #problems: Problem[];

  constructor(value: unknown, object: string, problems: Problem[] = [], path = '') {
    this.#object = object;
    this.#path = path;
    this.#problems = problems;
    this.#value = isRecord(value) ? value : {};
    if (value !== undefined && value !== null && !isRecord(value))
      this.problem('', `must be an object, not ${show(value)}`);
  }

  get problems(): readonly Problem[] {
    return this.#problems;
  }

  problem(field: string, reason: string): void {
    this.#problems.push({ object: this.#object, field: this.#fullPath(field), reason });
  }

  child(name: string): Fields {
    return new Fields(this.#value[name], this.#object, this.#problems, this.#fullPath(name));
  }

  text(name: string, fallback = ''): string {
    return this.#read(name, fallback, (value) => typeof value === 'string', 'a string');
  }

  /** One of a few words. An empty text is as good as none. */
  oneOf(name: string, fallback: string, words: readonly string[]): string {
    const isWord = (value: unknown): boolean => value === '' || words.includes(value as string);
    return this.#read(name, fallback, isWord, `one of ${words.join(', ')}`) || fallback;
  }

  flag(name: string, fallback: boolean): boolean {
    return this.#read(name, fallback, (value) => typeof value === 'boolean', 'true or false');
  }

  /** A whole number in a range. */
  number(name: string, fallback: number, min: number, max: number): number {
    const isNumber = (value: unknown): value is number =>
      Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
    return this.#read(name, fallback, isNumber, `a whole number from ${min} to ${max}`);
  }

  texts(name: string): readonly string[] {
    return this.#list(name).flatMap((value, i) => {
      if (typeof value === 'string') return [value];
      this.problem(`${name}[${i}]`, `must be a string, not ${show(value)}; this entry is left out`);
      return [];
    });
  }

  items(name: string): readonly Fields[] {
    return this.#list(name).map(
      (value, i) => new Fields(value, this.#object, this.#problems, this.#fullPath(`${name}[${i}]`)),
    );
  }

  isAbsent(name: string): boolean {
    return this.#value[name] === undefined || this.#value[name] === null;
  }

  /** True if the key is there at all, whatever its value: so are labels selected by. */
  has(name: string): boolean {
    return Object.hasOwn(this.#value, name);
  }

  #list(name: string): readonly unknown[] {
    return this.#read<readonly unknown[]>(name, [], Array.isArray, 'a list');
  }

  #read<T>(name: string, fallback: T, isRight: (value: unknown) => boolean, wanted: string): T {
    const value = this.#value[name];
    if (value === undefined || value === null) return fallback;
    if (isRight(value)) return value as T;
    this.problem(name, `must be ${wanted}, not ${show(value)}`);
    return fallback;
  }

  #fullPath(field: string): string {
    return [this.#path, field].filter((part) => part !== '').join('.');
  }
}

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value as a message shows it: short, on one line, and without its contents where it is large. */
export function show(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (isRecord(value)) return 'an object';
  const text = typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : String(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
