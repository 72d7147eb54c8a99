// How a kind differs from the others, as a record of functions. Which kind has which is in strategies.ts.
import type { KubeObject } from './object.ts';
import type { FieldError } from './status.ts';
import type { World } from './world.ts';

/** Each function may change the object it is given, never `before`. */
export interface Strategy {
  /** Sets what only the server decides when an object is new. */
  prepare?(object: KubeObject, world: World): void;
  /** Fills in what users leave out. */
  fill?(object: KubeObject, before: KubeObject | undefined, world: World): void;
  /** What is wrong with it, in Kubernetes' words. */
  check?(object: KubeObject, before: KubeObject | undefined, world: World): readonly FieldError[];
  /** Gives it the addresses and ports it needs; what cannot be had is an error of its field. */
  allocate?(object: KubeObject, before: KubeObject | undefined, world: World): readonly FieldError[];
  /** Seconds between a request to delete and the end; 0 removes at once. */
  graceSeconds?(object: KubeObject, asked: number | undefined): number;
  /** Whether an object that is asked to go has still something to do first. */
  staysForNow?(object: KubeObject): boolean;
}
